// A pretrained model learns a task of yours, and becomes a folder that other programs open.
//
//   fine_tune --model all-MiniLM-L6-v2 --train train.tsv --valid-share 0.1 --save questions
//   classify_text --model questions lines.txt
//
// What a line of a file is depends on the task: fine_tuning_data.h. Options: --help.
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "examples/attention_file.h"
#include "examples/confusion.h"
#include "examples/console.h"
#include "examples/fine_tuning_data.h"
#include "examples/training.h"
#include "models/hugging_face/fine_tuning.h"
#include "models/hugging_face/save_folder.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/text_classifier.h"
#include "models/hugging_face/token_tagger.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;
using examples::TextData;

constexpr const char* kProgram = "fine_tune";

struct Options {
  std::string model, train, valid, test, save;
  std::string task = "auto";
  bool pair = false;
  bool overwrite = false;
  double valid_share = 0;
  double head_lr = 1e-3;
  double layer_decay = 0.9;
  std::string freeze = "nothing";
  index_t freeze_layers = 0;
  index_t max_length = 0;
  double temperature = 0.05;
  examples::AttentionOptions attention;
};

/// The examples of the files of one call.
struct Files {
  TextData train, valid, test;
};

using Chosen = std::span<const index_t>;
using LossOf = std::function<nn::LossSum(const TextData& data, Chosen chosen)>;
using ScoresOf = std::function<Tensor(const text::Batch& batch)>;

/// What a task is to the trainer.
struct Task {
  std::string name;
  LossOf loss;
  bool is_regression = false;  // no answer is right or wrong
  // Of a task that chooses among classes, for --report:
  std::vector<std::string> labels = {};
  ScoresOf scores = {};
  text::BatchOptions padding = {};
};

Files read_files(const examples::Program& program, const Options& o,
                 const std::function<TextData(const std::string& file)>& read) {
  Files files;
  files.train = read(o.train);
  if (!o.valid.empty()) files.valid = read(o.valid);
  if (!o.test.empty()) files.test = read(o.test);
  if (o.valid_share > 0) {
    files.valid = examples::hold_out(files.train, o.valid_share, program.options.seed);
    require(!files.valid.empty(), kProgram, "--valid-share ", o.valid_share, " of ",
            files.train.examples.size(), " examples is none");
  }
  return files;
}

nn::Examples examples_of(const TextData& data, const LossOf& loss) {
  return {data.lengths(), [&](Chosen chosen) { return loss(data, chosen); }};
}

/// The error that a regression makes, as a standard deviation, or the share of right answers.
std::string said(const Task& task, const nn::LossTotals& totals) {
  if (task.is_regression) return "error " + examples::fixed(std::sqrt(totals.mean()), 4);
  return "loss " + examples::fixed(totals.mean(), 4) + "  accuracy " +
         examples::fixed(totals.accuracy(), 4);
}

std::string summary_of(const Task& task, const nn::EpochReport& report) {
  std::string summary = said(task, report.totals);
  if (!report.evaluation) return summary;
  summary += "  held out: " + said(task, report.evaluation->totals);
  return report.evaluation->is_best ? summary + ", the best" : summary;
}

models::FineTuningOptions tuning_of(const examples::Program& program, const Options& o,
                                    index_t layers) {
  require(o.freeze_layers <= layers, kProgram, "--freeze-layers is ", o.freeze_layers,
          ", but the model has ", layers, " layers");
  return {.lr = program.options.learning_rate,
          .head_lr = o.head_lr,
          .layer_decay = o.layer_decay,
          .weight_decay = program.options.weight_decay,
          .freeze_embeddings = o.freeze == "embeddings",
          .freeze_layers = o.freeze == "encoder" ? layers : o.freeze_layers};
}

/// Says what will be trained on what.
template <class Model>
void announce(const Task& task, const Model& model, const Files& files) {
  index_t learned = 0;
  for (const nn::Parameter& each : nn::parameters(model)) learned += each.tensor.count();
  std::cout << task.name << ": " << files.train.examples.size() << " examples";
  if (!files.valid.empty()) std::cout << ", " << files.valid.examples.size() << " held out";
  std::cout << "; " << learned << " of " << nn::parameter_count(model) << " parameters learn"
            << std::endl;
}

/// Tells --report which classes a trained model says for which.
void report(examples::Training& training, const Task& task, const Files& files) {
  constexpr index_t kBatch = 32;
  for (const auto& [data, title] : {std::pair(&files.valid, "Held-out examples"),
                                    std::pair(&files.test, "Examples of --test")}) {
    if (data->examples.empty()) continue;
    examples::Confusion counts(std::ssize(task.labels));
    nn::BatchSampler sampler(data->lengths(), {.batch_size = kBatch, .shuffle = false});
    while (sampler.epoch() == 0) {
      const text::Batch batch = text::make_batch(data->examples, sampler.next(), task.padding);
      counts.add(batch.labels, task.scores(batch));
    }
    training.report(counts.for_page(title, task.labels));
  }
}

/// Trains to the end and takes the best weights; false if it was stopped before.
template <class Model>
bool train(const examples::Program& program, const Options& o, const Task& task, Model& model,
           models::TokenEncoder& encoder, const Files& files) {
  std::vector<models::EncoderLayer>& layers = encoder.encoder.layers;
  for (models::EncoderLayer& layer : layers) {
    layer.gradient_checkpoint = program.options.checkpoint_layers;
  }
  auto groups = models::fine_tuning_groups(model, tuning_of(program, o, std::ssize(layers)));
  announce(task, model, files);
  examples::Lesson lesson = {
      .train = examples_of(files.train, task.loss),
      .digest = files.train.digest(),
      .has_accuracy = !task.is_regression,
      .best_by = task.is_regression ? nn::BestBy::kLoss : nn::BestBy::kAccuracy,
      .summary = [&](const nn::EpochReport& report) { return summary_of(task, report); }};
  lesson.notes.set("task", task.name);
  if (!files.valid.empty()) {
    lesson.held_out = examples_of(files.valid, task.loss);
    lesson.digest ^= files.valid.digest() * 3;
  }
  nn::train(model);
  examples::Training training(program, model, std::move(groups), std::move(lesson));
  if (!training.run()) return false;
  training.take_trained(model);
  nn::eval(model);
  if (training.has_report() && task.scores) report(training, task, files);
  return true;
}

template <class Learner>
const text::Tokenizer& tokenizer_of(const Learner& learner) {
  if constexpr (requires { learner.reader; }) {
    return *learner.reader.tokenizer;
  } else {
    return *learner.tokenizer;
  }
}

/// What --attention asks for, of the texts to be tested on, else of those held out or learned.
template <class Learner>
void write_attention(const examples::AttentionFile& file, const Learner& learner,
                     const models::TokenEncoder& encoder, const Files& files) {
  const TextData& shown = !files.test.empty()    ? files.test
                          : !files.valid.empty() ? files.valid
                                                 : files.train;
  file.write(std::ssize(shown.examples), tokenizer_of(learner), encoder, [&](index_t i) {
    const text::Example& example = shown.examples[static_cast<std::size_t>(i)];
    return examples::ReadText{example.ids, example.types};
  });
}

/// All of a run: `learner` is a model with its tokenizer, of which `model` is what learns.
template <class Learner, class Model>
void run_task(const examples::Program& program, const Options& o, const Task& task,
              const Learner& learner, Model& model, models::TokenEncoder& encoder,
              const Files& files) {
  const examples::AttentionFile attention(o.attention, encoder.encoder, o.save);
  models::save_folder(o.save, o.model, learner, {.overwrite = o.overwrite, .rehearse = true});
  if (!train(program, o, task, model, encoder, files)) return;
  models::save_folder(o.save, o.model, learner, {.overwrite = o.overwrite});
  std::cout << "saved " << o.save << std::endl;
  if (!files.test.empty()) {
    std::cout << "test " << said(task, nn::evaluate(model, examples_of(files.test, task.loss)))
              << std::endl;
  }
  write_attention(attention, learner, encoder, files);
}

// ---- the tasks ----

models::Tokens tokens_of(const text::Batch& batch) {
  return {.ids = batch.ids, .lengths = batch.lengths, .types = batch.types};
}

examples::TextEncoder text_encoder(const models::TextReader& reader, const Options& o) {
  return {.tokenizer = reader.tokenizer.get(),
          .options = reader.encode_options({.max_length = o.max_length}),
          .feeds_types = reader.feeds_types};
}

text::BatchOptions padding_of(const text::Tokenizer& tokenizer) {
  return {.pad = tokenizer.special().pad.value_or(0)};
}

/// A task whose model scores classes.
Task choice(const std::string& name, const std::vector<std::string>& labels, const ScoresOf& scores,
            const text::BatchOptions& padding) {
  Task task;
  task.name = name;
  task.loss = [scores, padding](const TextData& data, Chosen chosen) {
    const text::Batch batch = text::make_batch(data.examples, chosen, padding);
    return nn::summed_cross_entropy(scores(batch), batch.labels);
  };
  task.labels = labels;
  task.scores = scores;
  task.padding = padding;
  return task;
}

void learn_classes(const examples::Program& program, const Options& o) {
  const examples::LabelledFile lines = examples::read_labelled_file(o.train, o.pair);
  const std::vector<std::string> labels = text::distinct_labels(lines.lines);
  if (labels.size() < 2) {
    fail_file(o.train, "every line has the label ", printable(labels.front()),
              "; a classifier needs two");
  }
  models::TextClassifier learner = models::make_text_classifier(o.model, labels);
  const examples::TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = read_files(program, o, [&](const std::string& file) {
    return examples::classified_texts(examples::read_labelled_file(file, o.pair), labels, encode);
  });
  const text::BatchOptions padding = padding_of(*learner.reader.tokenizer);
  const ScoresOf scores = [&](const text::Batch& batch) { return learner.model(tokens_of(batch)); };
  const Task task = choice("classification", labels, scores, padding);
  run_task(program, o, task, learner, learner.model, learner.model.encode, files);
}

/// The mean of what is to be predicted, with which an untrained model begins.
double mean_value(const TextData& data) {
  double sum = 0;
  for (const text::Example& example : data.examples) sum += std::get<double>(example.label);
  return sum / static_cast<double>(data.examples.size());
}

void learn_values(const examples::Program& program, const Options& o) {
  models::TextClassifier learner =
      models::make_text_classifier(o.model, {"value"}, models::Scoring::kNone);
  const examples::TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = read_files(program, o, [&](const std::string& file) {
    return examples::valued_texts(examples::read_labelled_file(file, o.pair), encode);
  });
  learner.model.classifier.bias = full({1}, mean_value(files.train));
  const text::BatchOptions padding = padding_of(*learner.reader.tokenizer);
  const LossOf loss = [&](const TextData& data, Chosen chosen) {
    const text::Batch batch = text::make_batch(data.examples, chosen, padding);
    const Tensor values = learner.model(tokens_of(batch)).select(1, 0);
    return nn::summed_squared_error(values, batch.labels);
  };
  run_task(program, o, {"regression", loss, true}, learner, learner.model, learner.model.encode,
           files);
}

void learn_tags(const examples::Program& program, const Options& o) {
  const std::vector<std::string> labels = text::distinct_labels(text::read_tagged_tokens(o.train));
  models::TokenTagger learner = models::make_token_tagger(o.model, labels);
  const examples::TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = read_files(program, o, [&](const std::string& file) {
    return examples::tagged_texts(text::read_tagged_tokens(file), labels, file, encode);
  });
  const text::BatchOptions padding = padding_of(*learner.reader.tokenizer);
  const ScoresOf scores = [&](const text::Batch& batch) { return learner.model(tokens_of(batch)); };
  const Task task = choice("tokens", labels, scores, padding);
  run_task(program, o, task, learner, learner.model, learner.model.encode, files);
}

/// The limit in tokens of a sentence, by the options and the model; 0: none.
index_t sentence_limit(const models::SentenceEncoder& model, const Options& o) {
  const index_t most = model.settings.max_length;
  require(most == 0 || o.max_length <= most, kProgram, "--max-length is ", o.max_length,
          ", but the model reads at most ", most, " tokens");
  return o.max_length > 0 ? o.max_length : most;
}

/// The embeddings of a batch's texts, as the folder will make them.
Tensor embedded(const models::SentenceEncoder& model, const models::TokenEncoder& words,
                const text::Batch& batch) {
  const models::Tokens tokens = tokens_of(batch);
  Tensor y = model.pooling(words(tokens), tokens);
  for (const models::SentenceModule& module : model.modules) {
    y = std::visit([&](const auto& part) { return part(y); }, module);
  }
  return y;
}

void learn_pairs(const examples::Program& program, const Options& o) {
  require(program.options.shards == 1, kProgram,
          "--task pairs needs --shards 1: a pair's negatives are the others of its batch");
  models::SentenceEncoder learner = models::load_sentence_encoder(o.model);
  auto* const words = std::get_if<models::TokenEncoder>(&learner.words);
  if (words == nullptr) fail_file(o.model, "static embeddings have no layers that could learn");
  const examples::TextEncoder encode = {.tokenizer = learner.tokenizer.get(),
                                        .options = {.max_length = sentence_limit(learner, o),
                                                    .cut = learner.tokenizer->settings().cut}};
  const auto clean = [&](const std::string& text) {
    return models::cleaned(text, learner.settings.lower_case);
  };
  const Files files = read_files(program, o, [&](const std::string& file) {
    return examples::paired_texts(file, encode, clean);
  });
  const text::BatchOptions padding = padding_of(*learner.tokenizer);
  const LossOf loss = [&](const TextData& data, Chosen chosen) {
    const Tensor firsts =
        embedded(learner, *words, text::make_batch(data.examples, chosen, padding));
    const Tensor seconds =
        embedded(learner, *words, text::make_batch(data.partners, chosen, padding));
    return nn::summed_contrastive(firsts, seconds, {.temperature = o.temperature});
  };
  run_task(program, o, {"pairs", loss}, learner, *words, *words, files);
}

// ---- the command line ----

/// Whether `path` is `folder` or something in it.
bool is_inside(const std::string& path, const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path relative = fs::weakly_canonical(fs::absolute(path))
                                .lexically_relative(fs::weakly_canonical(fs::absolute(folder)));
  return !relative.empty() && *relative.begin() != "..";
}

/// Throws unless the options fit each other and the model can be saved when it is trained.
void check(const examples::Program& program, const Options& o) {
  require(!o.model.empty() && !o.train.empty() && !o.save.empty(), kProgram,
          "--model DIR, --train FILE and --save DIR must be given");
  require(o.valid.empty() || o.valid_share == 0, kProgram,
          "--valid and --valid-share say twice what is held out");
  require(!o.valid.empty() || o.valid_share > 0 || program.options.patience == 0, kProgram,
          "--patience needs held-out examples: --valid FILE or --valid-share");
  require(!o.pair || o.task == "classification" || o.task == "regression" || o.task == "auto",
          kProgram, "--pair goes with --task classification and regression");
  for (const auto& [flag, path] :
       {std::pair("--log", program.options.log), std::pair("--report", program.options.report),
        std::pair("--checkpoint", program.options.save),
        std::pair("--attention", o.attention.file)}) {
    require(path.empty() || !is_inside(path, o.save), kProgram, flag, ' ', path,
            " is in the folder of --save, which has nothing but the model");
  }
}

void run(const examples::Program& program, const Options& o) {
  check(program, o);
  manual_seed(program.options.seed);
  const std::string task = o.task == "auto" ? examples::guessed_task(o.train, o.pair) : o.task;
  if (task == "classification") return learn_classes(program, o);
  if (task == "regression") return learn_values(program, o);
  require(!o.pair, kProgram, "--pair goes with --task classification and regression");
  if (task == "tokens") return learn_tags(program, o);
  learn_pairs(program, o);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  examples::Program program(kProgram,
                            "Teaches a pretrained model a task, from a file of examples, and saves "
                            "it as a folder.",
                            {.epochs = 4, .batch_size = 32, .learning_rate = 1e-4},
                            examples::Trains::kPretrained);
  program.add_for_call("--model", o.model, "folder of the pretrained model");
  program.add_file("--train", o.train, "file of lines to learn from");
  program.add_file("--test", o.test, "file of lines to be tested on at the end");
  program.add_for_call("--save", o.save, "folder for the trained model");
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
