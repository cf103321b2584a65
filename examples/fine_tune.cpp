// A pretrained model learns a task of yours, and becomes a folder that other programs open.
//
//   fine_tune --model all-MiniLM-L6-v2 --train train.tsv --valid-share 0.1 --save questions
//   classify_text --model questions lines.txt
//
// What a line of a file is depends on the task: fine_tuning_data.h. Options: --help.
#include <string>

#include "examples/fine_tuning_data.h"
#include "examples/fine_tuning_tasks.h"
#include "tensor/error.h"

namespace {

using namespace tessera;
using examples::kFineTune;

/// Throws unless the options fit each other and the model can be saved when it is trained.
void check(const examples::Program& program, const examples::FineTuneOptions& o) {
  require(!o.model.empty() && !o.train.empty() && !o.save.empty(), kFineTune,
          "--model DIR, --train FILE and --save DIR must be given");
  require(o.valid.empty() || o.valid_share == 0, kFineTune,
          "--valid and --valid-share say twice what is held out");
  require(!o.valid.empty() || o.valid_share > 0 || program.options.patience == 0, kFineTune,
          "--patience needs held-out examples: --valid FILE or --valid-share");
  require(!o.pair || o.task == "classification" || o.task == "regression" || o.task == "auto",
          kFineTune, "--pair goes with --task classification and regression");
}

void run(const examples::Program& program, const examples::FineTuneOptions& o) {
  check(program, o);
  manual_seed(program.options.seed);
  const std::string task = o.task == "auto" ? examples::guessed_task(o.train, o.pair) : o.task;
  if (task == "classification") return examples::learn_classes(program, o);
  if (task == "regression") return examples::learn_values(program, o);
  require(!o.pair, kFineTune, "--pair goes with --task classification and regression");
  if (task == "tokens") return examples::learn_tags(program, o);
  examples::learn_pairs(program, o);
}

}  // namespace

int main(int argc, char** argv) {
  examples::FineTuneOptions o;
  examples::Program program(kFineTune,
                            "Teaches a pretrained model a task, from a file of examples, and saves "
                            "it as a folder.",
                            {.epochs = 4, .batch_size = 32, .learning_rate = 1e-4},
                            examples::Trains::kPretrained);
  program.add_input("--model", o.model, "folder of the pretrained model");
  program.add_input("--train", o.train, "file of lines to learn from");
  program.add_input("--test", o.test, "file of lines to be tested on at the end");
  program.add_output("--save", o.save, "folder for the trained model", examples::Output::kFolder);
  program.add_for_call("--overwrite", o.overwrite, "replace a model in the folder of --save");
  program.add("--task", o.task, "what the lines are; auto: classes, numbers or words with labels",
              {"auto", "classification", "regression", "tokens", "pairs"});
  program.add_for_call("--pair", o.pair, "a line is a label and two texts, with tabs between them");
  program.add_held_out(o.valid, o.valid_share);
  program.add("--head-lr", o.head_lr, "highest learning rate of what is new", {0, 1e9});
  program.add("--layer-decay", o.layer_decay, "a layer's learning rate by that of the one above",
              {0, 1});
  program.add("--freeze", o.freeze, "what keeps its weights", {"nothing", "embeddings", "encoder"});
  program.add("--freeze-layers", o.freeze_layers,
              "so many of the lowest layers do, and the embeddings", {0, examples::kMany});
  program.add("--max-length", o.max_length, "most tokens of a text; 0: the model's",
              {0, examples::kMany});
  program.add("--temperature", o.temperature, "what the cosines of pairs are divided by",
              {1e-6, 1e6});
  examples::add_attention_options(program, o.attention);
  return program.run(argc, argv, [&] { run(program, o); });
}
