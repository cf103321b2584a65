// Trains a pretrained model for a new task, and saves it as a folder for other programs.
//
//   fine_tune --model all-MiniLM-L6-v2 --train train.tsv --held-out-share 0.1 --save questions
//   classify_text --model questions lines.txt
//
// The form of a line depends on the task: fine_tuning_data.h. Options: --help.
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "examples/programs/attention.h"
#include "examples/programs/confusion_counter.h"
#include "examples/programs/fine_tuning_data.h"
#include "examples/programs/processes.h"
#include "examples/programs/training.h"
#include "models/hugging_face/fine_tuning.h"
#include "models/hugging_face/save_folder.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/text_classifier.h"
#include "models/hugging_face/token_tagger.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/ops/ops.h"
#include "tensor/profile_span.h"

namespace {

using namespace tessera;
using examples::Program;
using examples::TextData;
using text::TextEncoder;
using Chosen = std::span<const index_t>;

constexpr const char* kFineTune = "fine_tune";

struct Options {
  std::string model, train, test, save;
  std::string task = "auto";
  bool pair = false;
  double head_lr = 1e-3;
  double layer_decay = 0.9;
  std::string fixed = "nothing";
  index_t fixed_layers = 0;
  index_t max_length = 0;
  double temperature = 0.05;
  examples::AttentionOptions attention;
};

/// The examples of the files of one call.
struct Files {
  TextData train, held_out, test;
};

/// A task for the trainer.
struct Task {
  std::string name;
  const text::Tokenizer& tokenizer;
  std::function<nn::LossSum(const TextData& data, Chosen chosen)> loss;
  bool has_accuracy = true;  // predictions are right or wrong
  // For tasks that choose among classes, for --report:
  std::vector<std::string> labels = {};
  std::function<Tensor(const text::Batch& batch)> scores = {};

  nn::Examples of(const TextData& data) const {
    return {data.lengths(), [&](Chosen chosen) { return loss(data, chosen); }, data.digest()};
  }
};

index_t padding_of(const text::Tokenizer& tokenizer) {
  return tokenizer.special().pad.value_or(0);
}

text::Batch batch_of(const std::vector<text::Example>& all, Chosen chosen,
                     const text::Tokenizer& tokenizer) {
  return text::make_batch(all, chosen, padding_of(tokenizer));
}

models::Tokens tokens_of(const text::Batch& batch) {
  return {.ids = batch.ids, .lengths = batch.lengths, .types = batch.types};
}

/// Prevents other runs from training a model for the same folder. **Errors**: as FileLock.
std::unique_ptr<FileLock> lock_of_target(const std::string& folder) {
  namespace fs = std::filesystem;
  fs::path place = fs::weakly_canonical(fs::absolute(folder));
  if (!place.has_filename()) place = place.parent_path();
  const std::string name = str_cat('.', place.filename().string(), ".lock");
  return std::make_unique<FileLock>(place.parent_path() / name, folder);
}

/// One call of the program.
struct Call {
  const Program& program;
  const Options& o;

  /// The files named by the options, converted to examples by `read`.
  Files files(const std::function<TextData(const std::string& file)>& read) const;
  /// The whole run: `learner` is a model with its tokenizer; `model` is its part that learns.
  template <class Learner, class Model>
  void run(const Task& task, const Learner& learner, Model& model, models::TokenEncoder& encoder,
           const Files& files) const;

 private:
  models::FineTuningOptions tuning(index_t layers) const;
  template <class Model>
  bool train(const Task& task, Model& model, models::TokenEncoder& encoder,
             const Files& files) const;
  template <class Learner>
  void save(const Learner& learner, bool dry_run) const;
};

Files Call::files(const std::function<TextData(const std::string& file)>& read) const {
  Files all;
  all.train = read(o.train);
  if (!program.options.held_out.empty()) all.held_out = read(program.options.held_out);
  if (!o.test.empty()) all.test = read(o.test);
  if (program.options.held_out_share > 0) {
    all.held_out.examples = examples::hold_out(program, all.train.examples);
    if (!all.train.partners.empty()) {  // they are the same examples
      all.held_out.partners = examples::hold_out(program, all.train.partners);
    }
  }
  return all;
}

/// **Errors**: std::invalid_argument: more fixed layers than the model has.
models::FineTuningOptions Call::tuning(index_t layers) const {
  require(o.fixed_layers <= layers, kFineTune, "--fixed-layers must be at most ", layers,
          ", the layers of the model, got ", o.fixed_layers);
  return {.lr = program.options.learning_rate,
          .head_lr = o.head_lr,
          .layer_decay = o.layer_decay,
          .weight_decay = program.options.weight_decay,
          .fixed_embeddings = o.fixed == "embeddings",
          .fixed_layers = o.fixed == "encoder" ? layers : o.fixed_layers};
}

/// Prints the model and the data of the training.
template <class Model>
void announce(const Task& task, const Model& model, const Files& files) {
  index_t learned = 0;
  for (const nn::Parameter& each : nn::parameters(model)) learned += each.tensor.count();
  std::cout << task.name << ": " << files.train.examples.size() << " examples";
  if (!files.held_out.empty()) std::cout << ", " << files.held_out.examples.size() << " held out";
  std::cout << "; " << learned << " of " << nn::parameter_count(model) << " parameters learn"
            << std::endl;
}

/// Adds the confusion matrices of a trained model to --report.
void report(examples::Training& training, const Task& task, const Files& files) {
  for (const auto& [data, title] : {std::pair(&files.held_out, "Held-out examples"),
                                    std::pair(&files.test, "Examples of --test")}) {
    if (data->empty()) continue;
    const examples::ConfusionCounter counts = examples::confusion_of(
        data->examples, std::ssize(task.labels), padding_of(task.tokenizer), task.scores);
    training.report(counts.for_page(title, task.labels));
  }
}

/// Trains to the end and loads the best weights; returns false if it was stopped before.
template <class Model>
bool Call::train(const Task& task, Model& model, models::TokenEncoder& encoder,
                 const Files& files) const {
  std::vector<models::EncoderLayer>& layers = encoder.encoder.layers;
  for (models::EncoderLayer& layer : layers) {
    layer.gradient_checkpoint = program.options.gradient_checkpoint;
  }
  auto groups = models::fine_tuning_groups(model, tuning(std::ssize(layers)));
  announce(task, model, files);
  examples::TrainingTask training_task = {
      .train = task.of(files.train),
      .has_accuracy = task.has_accuracy,
      .best_by = task.has_accuracy ? nn::BestBy::kAccuracy : nn::BestBy::kLoss};
  training_task.notes.set("task", task.name);
  if (!files.held_out.empty()) training_task.held_out = task.of(files.held_out);
  nn::train(model);
  examples::Training training(program, model, std::move(groups), std::move(training_task));
  if (!training.run()) return false;
  training.take_trained(model);
  nn::eval(model);
  if (training.has_report() && task.scores) report(training, task, files);
  return true;
}

/// Saves the folder or, for a dry run, only checks that it can be saved; only rank 0 writes.
template <class Learner>
void Call::save(const Learner& learner, bool dry_run) const {
  if (!examples::leaves_traces()) return;
  const ProfileScope scope("save model");
  models::save_folder(o.save, o.model, learner,
                      {.overwrite = program.options.overwrite, .dry_run = dry_run});
}

template <class Learner, class Model>
void Call::run(const Task& task, const Learner& learner, Model& model,
               models::TokenEncoder& encoder, const Files& files) const {
  o.attention.check(encoder.encoder);
  std::unique_ptr<FileLock> lock;
  save(learner, true);
  if (examples::leaves_traces()) lock = lock_of_target(o.save);
  if (!train(task, model, encoder, files)) return;
  save(learner, false);
  std::cout << "saved " << o.save << std::endl;
  if (!files.test.empty()) {
    const nn::LossTotals totals = nn::evaluate(model, task.of(files.test));
    std::cout << "test " << examples::said(totals, task.has_accuracy) << std::endl;
  }
  const TextData& shown = !files.test.empty()       ? files.test
                          : !files.held_out.empty() ? files.held_out
                                                    : files.train;
  const auto read = [&](index_t i) {
    return tokens_of(batch_of(shown.examples, Chosen(&i, 1), task.tokenizer));
  };
  examples::write_attention(o.attention, {.about = o.save,
                                          .encoder = encoder,
                                          .count = std::ssize(shown.examples),
                                          .read = read,
                                          .token = examples::token_names(task.tokenizer)});
}

TextEncoder text_encoder(const models::TextReader& reader, const Options& o) {
  return {.tokenizer = reader.tokenizer.get(),
          .options = reader.encode_options({.max_length = o.max_length}),
          .feeds_types = reader.feeds_types};
}

/// A task whose model, made by make(), gives scores for classes; read(file, encode) makes examples.
template <class Make, class Read>
void learn_choice(const Call& call, const char* name, const std::vector<std::string>& labels,
                  const Make& make, const Read& read) {
  examples::require_classes(call.o.train, labels);
  auto learner = make();
  const TextEncoder encode = text_encoder(learner.reader, call.o);
  const Files files = call.files([&](const std::string& file) { return read(file, encode); });
  const text::Tokenizer& tokenizer = *encode.tokenizer;
  const auto scores = [&](const text::Batch& batch) { return learner.model(tokens_of(batch)); };
  const auto loss = [&](const TextData& data, Chosen chosen) {
    const text::Batch batch = batch_of(data.examples, chosen, tokenizer);
    return nn::summed_cross_entropy(scores(batch), batch.labels);
  };
  call.run({name, tokenizer, loss, true, labels, scores}, learner, learner.model,
           learner.model.encode, files);
}

void learn_classes(const Call& call) {
  const Options& o = call.o;
  const auto labels = text::distinct_labels(examples::read_labelled_file(o.train, o.pair).lines);
  const auto make = [&] { return models::make_text_classifier(o.model, labels); };
  learn_choice(call, "classification", labels, make,
               [&](const std::string& file, const TextEncoder& encode) {
                 const auto [name, lines] = examples::read_labelled_file(file, o.pair);
                 return TextData{text::labelled_examples(lines, labels, encode, name)};
               });
}

void learn_tags(const Call& call) {
  const Options& o = call.o;
  const auto labels = text::distinct_labels(text::read_tagged_tokens(o.train));
  const auto make = [&] { return models::make_token_tagger(o.model, labels); };
  learn_choice(
      call, "tokens", labels, make, [&](const std::string& file, const TextEncoder& encode) {
        return examples::tagged_texts(text::read_tagged_tokens(file), labels, file, encode);
      });
}

/// The mean of the values to predict, the initial prediction of an untrained model.
double mean_value(const TextData& data) {
  double sum = 0;
  for (const text::Example& example : data.examples) sum += std::get<double>(example.label);
  return sum / static_cast<double>(data.examples.size());
}

void learn_values(const Call& call) {
  const Options& o = call.o;
  models::TextClassifier learner =
      models::make_text_classifier(o.model, {"value"}, models::Scoring::kNone);
  const TextEncoder encode = text_encoder(learner.reader, o);
  const Files files = call.files([&](const std::string& file) {
    return examples::valued_texts(examples::read_labelled_file(file, o.pair), encode);
  });
  learner.model.classifier.bias = full({1}, mean_value(files.train));
  const auto loss = [&](const TextData& data, Chosen chosen) {
    const text::Batch batch = batch_of(data.examples, chosen, *encode.tokenizer);
    const Tensor values = learner.model(tokens_of(batch)).select(1, 0);
    return nn::summed_squared_error(values, batch.labels);
  };
  call.run({"regression", *encode.tokenizer, loss, false}, learner, learner.model,
           learner.model.encode, files);
}

void learn_pairs(const Call& call) {
  const Options& o = call.o;
  require(examples::processes().size() == 1, kFineTune,
          "--task pairs must run in one process, got ", examples::processes().size(),
          "; a pair's negatives are the other pairs of its batch");
  require(call.program.options.shards == 1, kFineTune, "--shards must be 1 for --task pairs, got ",
          call.program.options.shards, "; a pair's negatives are the other pairs of its batch");
  require(
      o.fixed != "encoder", kFineTune,
      "--fixed must be nothing or embeddings for --task pairs, got encoder; pairs have no head");
  models::SentenceEncoder learner = models::load_sentence_encoder(o.model);
  auto* const words = std::get_if<models::TokenEncoder>(&learner.words);
  if (words == nullptr)
    fail_file(o.model, "the model must have layers to train, got static embeddings");
  const text::Tokenizer& tokenizer = *learner.reader.tokenizer;
  const TextEncoder encode = text_encoder(learner.reader, o);
  const auto clean = [&](const std::string& text) {
    return models::cleaned(text, learner.settings.lower_case);
  };
  const Files files = call.files(
      [&](const std::string& file) { return examples::paired_texts(file, encode, clean); });
  const auto loss = [&](const TextData& data, Chosen chosen) {
    const Tensor firsts = learner(tokens_of(batch_of(data.examples, chosen, tokenizer)));
    const Tensor seconds = learner(tokens_of(batch_of(data.partners, chosen, tokenizer)));
    return nn::summed_info_nce(firsts, seconds, {.temperature = o.temperature});
  };
  call.run({"pairs", tokenizer, loss}, learner, *words, *words, files);
}

void check_pair(bool pair, const std::string& task) {
  require(!pair || task == "classification" || task == "regression", kFineTune,
          "--task must be classification or regression for --pair, got ", task);
}

void run(const Call& call) {
  const Options& o = call.o;
  require(!o.model.empty() && !o.train.empty() && !o.save.empty(), kFineTune,
          "--model DIR, --train FILE and --save DIR must all be given");
  if (o.task != "auto") check_pair(o.pair, o.task);
  manual_seed(call.program.options.seed);
  const std::string task = o.task == "auto" ? examples::guessed_task(o.train, o.pair) : o.task;
  if (task == "classification") return learn_classes(call);
  if (task == "regression") return learn_values(call);
  check_pair(o.pair, task);
  if (task == "tokens") return learn_tags(call);
  learn_pairs(call);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  Program program(
      kFineTune, "Trains a pretrained model on a file of examples and saves it as a folder.",
      {.epochs = 4, .batch_size = 32, .learning_rate = 1e-4}, examples::Trains::kPretrained);
  program.add_input("--model", o.model, "folder of the pretrained model");
  program.add_input("--train", o.train, "training file");
  program.add_input("--test", o.test, "test file, evaluated at the end");
  program.add_output("--save", o.save, "folder for the trained model", examples::FileUse::kFolder);
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
      .add("--fixed", o.fixed, "part of the model that is not trained",
           {"nothing", "embeddings", "encoder"})
      .kept();
  program
      .add("--fixed-layers", o.fixed_layers,
           "layers that are not trained, like the embeddings, counted from the input",
           {0, examples::kMany})
      .kept();
  program
      .add("--max-length", o.max_length,
           "maximum number of tokens per text; 0: the limit of the model", {0, examples::kMany})
      .kept();
  program
      .add("--temperature", o.temperature, "divisor of the cosine similarities of pairs",
           {1e-6, 1e6})
      .kept();
  o.attention.add_to(program);
  return program.run(argc, argv, [&] { run({program, o}); });
}
