// A pretrained model learns a task of yours, and becomes a folder that other programs open.
//
//   fine_tune --model all-MiniLM-L6-v2 --train train.tsv --valid-share 0.1 --save questions
//   classify_text --model questions lines.txt
//
// What a line of a file is depends on the task: fine_tuning_data.h. Options: --help.
#include <string>

#include "examples/programs/fine_tuning_data.h"
#include "examples/programs/fine_tuning_tasks.h"
#include "tensor/error.h"

namespace {

using namespace tessera;
using examples::kFineTune;

void check_pair(bool pair, const std::string& task) {
  require(!pair || task == "classification" || task == "regression", kFineTune,
          "--pair needs --task classification or regression, got ", task);
}

/// Throws unless the options fit each other and the model can be saved when it is trained.
void check(const examples::FineTuneOptions& o) {
  require(!o.model.empty() && !o.train.empty() && !o.save.empty(), kFineTune,
          "needs --model DIR, --train FILE and --save DIR");
  if (o.task != "auto") check_pair(o.pair, o.task);
}

void run(const examples::Program& program, const examples::FineTuneOptions& o) {
  check(o);
  manual_seed(program.options.seed);
  const std::string task = o.task == "auto" ? examples::guessed_task(o.train, o.pair) : o.task;
  if (task == "classification") return examples::learn_classes(program, o);
  if (task == "regression") return examples::learn_values(program, o);
  check_pair(o.pair, task);
  if (task == "tokens") return examples::learn_tags(program, o);
  examples::learn_pairs(program, o);
}

}  // namespace

int main(int argc, char** argv) {
  examples::FineTuneOptions o;
  examples::Program program(
      kFineTune, "Trains a pretrained model on a file of examples and saves it as a folder.",
      {.epochs = 4, .batch_size = 32, .learning_rate = 1e-4}, examples::Trains::kPretrained);
  program.add_input("--model", o.model, "folder of the pretrained model");
  program.add_input("--train", o.train, "training file");
  program.add_input("--test", o.test, "test file, evaluated at the end");
  program.add_output("--save", o.save, "folder for the trained model", examples::Output::kFolder);
  program
      .add("--task", o.task,
           "kind of task; auto: classification, regression or tokens, by the file",
           {"auto", "classification", "regression", "tokens", "pairs"})
      .kept();
  program.add("--pair", o.pair, "input lines of label<TAB>text<TAB>text");
  program.add_held_out();
  program.add("--head-lr", o.head_lr, "peak learning rate of the new head", {0, 1e9}).kept();
  program
      .add("--layer-decay", o.layer_decay, "learning rate of a layer relative to the layer above",
           {0, 1})
      .kept();
  program
      .add("--freeze", o.freeze, "part of the model to freeze",
           {"nothing", "embeddings", "encoder"})
      .kept();
  program
      .add("--freeze-layers", o.freeze_layers,
           "layers to freeze, counted from the input, with the embeddings", {0, examples::kMany})
      .kept();
  program
      .add("--max-length", o.max_length, "tokens per text; 0: the limit of the model",
           {0, examples::kMany})
      .kept();
  program
      .add("--temperature", o.temperature, "divisor of the cosine similarities of pairs",
           {1e-6, 1e6})
      .kept();
  examples::add_attention_options(program, o.attention);
  return program.run(argc, argv, [&] { run(program, o); });
}
