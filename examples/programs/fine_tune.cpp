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

#include <tessera/models/hugging_face/fine_tuning.h>
#include <tessera/models/hugging_face/save_folder.h>
#include <tessera/models/hugging_face/sentence_encoder.h>
#include <tessera/models/hugging_face/text_classifier.h>
#include <tessera/models/hugging_face/token_tagger.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/io/file.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/profile_span.h>
#include "examples/programs/confusion_counter.h"
#include "examples/programs/fine_tuning_data.h"
#include "examples/programs/processes.h"
#include "examples/programs/training.h"

namespace {

using namespace tessera;
using examples::TextData;
using examples::TrainingCommand;
using text::Tokenization;
using Chosen = std::span<const index_t>;

constexpr const char* kFineTune = "fine_tune";
constexpr double kTemperature = 0.05;  // divides the cosine similarities of pairs

struct Options {
  std::string model, train, test, save;
  std::string task = "auto";
  bool pair = false;
  double head_lr = 1e-3;
  double layer_decay = 0.9;
  std::string fixed = "nothing";
  index_t frozen_layers = 0;
  index_t max_length = 0;
  std::shared_ptr<examples::CutTexts> cut = std::make_shared<examples::CutTexts>();
};

/// The examples of the files of one call.
struct Files {
  TextData train = {}, held_out = {}, test = {};
};

/// The kind of task that a model is trained for, with its examples.
struct Task {
  std::string name;
  Files files;
  const text::Tokenizer& tokenizer;
  std::function<nn::LossSum(const TextData& data, Chosen chosen)> loss;
  bool has_accuracy = true;  // predictions are correct or wrong
  // For tasks that choose among classes, for --report:
  std::vector<std::string> labels = {};
  std::function<Tensor(const text::Batch& batch)> scores = {};

  nn::Examples of(const TextData& data) const {
    return {data.lengths(), [&](Chosen chosen) { return loss(data, chosen); }, data.digest()};
  }
  /// The confusion matrices of a trained model.
  std::vector<pages::ConfusionMatrix> confusion() const;
};

index_t padding_of(const text::Tokenizer& tokenizer) {
  return tokenizer.special().pad.value_or(0);
}

text::Batch batch_of(const std::vector<text::Example>& all, Chosen chosen,
                     const text::Tokenizer& tokenizer) {
  return text::make_batch(all, chosen, padding_of(tokenizer));
}

models::Tokens tokens_of(const text::Batch& batch) {
  return {.ids = batch.ids, .lengths = batch.lengths, .type_ids = batch.type_ids};
}

std::vector<pages::ConfusionMatrix> Task::confusion() const {
  std::vector<pages::ConfusionMatrix> tables;
  for (const auto& [data, title] : {std::pair(&files.held_out, "Held-out examples"),
                                    std::pair(&files.test, "Examples of --test")}) {
    if (data->empty()) continue;
    tables.push_back(examples::confusion_of(data->examples, labels, padding_of(tokenizer), scores)
                         .for_page(title));
  }
  return tables;
}

/// Prevents other runs from training a model for the same folder. **Errors**: as FileLock.
std::unique_ptr<FileLock> lock_of_target(const std::string& folder) {
  namespace fs = std::filesystem;
  fs::path place = fs::weakly_canonical(fs::absolute(folder));
  if (!place.has_filename()) place = place.parent_path();
  const std::string name = str_cat('.', place.filename().string(), ".lock");
  return std::make_unique<FileLock>(place.parent_path() / name, folder);
}

/// The files named by the options, converted to examples by `read`.
Files read_files(const TrainingCommand& command, const Options& o,
                 const std::function<TextData(const std::string& file)>& read) {
  Files all = {.train = read(o.train)};
  if (!command.options.held_out.empty()) all.held_out = read(command.options.held_out);
  if (!o.test.empty()) all.test = read(o.test);
  if (command.options.held_out_share > 0) {
    all.held_out.examples = command.hold_out(all.train.examples);
    if (!all.train.partners.empty()) {  // they are the same examples
      all.held_out.partners = command.hold_out(all.train.partners);
    }
  }
  const std::string& held_out = command.options.held_out;
  all.train.require_targets(o.train);
  if (!all.held_out.empty()) {
    all.held_out.require_targets(held_out.empty() ? "--held-out-share" : held_out);
  }
  if (!all.test.empty()) all.test.require_targets(o.test);
  return all;
}

/// Trains to the end and loads the best weights; returns false if it was stopped before.
/// **Errors**: also std::invalid_argument: more fixed layers than the model has.
template <class Model>
bool train(const TrainingCommand& command, const Options& o, const Task& task, Model& model,
           models::TokenEncoder& encoder) {
  std::vector<models::EncoderLayer>& layers = encoder.encoder.layers;
  for (models::EncoderLayer& layer : layers) {
    layer.gradient_checkpoint = command.options.gradient_checkpoint;
  }
  const index_t depth = std::ssize(layers);
  require(o.frozen_layers <= depth, kFineTune, "--fixed-layers must be at most ", depth,
          ", the layers of the model, got ", o.frozen_layers);
  auto groups = models::fine_tuning_groups(
      model, {.lr = command.options.learning_rate,
              .head_lr = o.head_lr,
              .layer_decay = o.layer_decay,
              .weight_decay = command.options.weight_decay,
              .freeze_embeddings = o.fixed == "embeddings",
              .frozen_layers = o.fixed == "encoder" ? depth : o.frozen_layers});
  index_t learned = 0;
  for (const nn::Parameter& each : nn::parameters(model)) learned += each.tensor.count();
  const TextData& held_out = task.files.held_out;
  std::cout << task.name << ": " << task.files.train.examples.size() << " examples";
  if (!held_out.empty()) std::cout << ", " << held_out.examples.size() << " held out";
  std::cout << "; " << learned << " of " << nn::parameter_count(model) << " parameters learn"
            << std::endl;
  examples::Training training = {
      .train = task.of(task.files.train),
      .has_accuracy = task.has_accuracy,
      .best_by = task.has_accuracy ? nn::BestBy::kAccuracy : nn::BestBy::kLoss};
  training.notes.set("task", task.name);
  if (!held_out.empty()) training.held_out = task.of(held_out);
  if (task.scores) training.confusion = [&] { return task.confusion(); };
  nn::train(model);
  return command.train(model, training, std::move(groups));
}

/// Trains, saves and tests. `learner` is a model with its tokenizer; `model` is its part that
/// learns. Only rank 0 saves.
template <class Learner, class Model>
void fine_tune(const TrainingCommand& command, const Options& o, const Task& task,
               const Learner& learner, Model& model, models::TokenEncoder& encoder) {
  const auto save = [&](bool dry_run) {
    if (!examples::leaves_traces()) return;
    const ProfileScope scope("save model");
    models::save_folder(o.save, o.model, learner,
                        {.overwrite = command.options.overwrite, .dry_run = dry_run});
  };
  save(/*dry_run=*/true);
  std::unique_ptr<FileLock> lock;
  if (examples::leaves_traces()) lock = lock_of_target(o.save);
  if (!train(command, o, task, model, encoder)) return;
  save(/*dry_run=*/false);
  std::cout << "saved " << o.save << std::endl;
  if (task.files.test.empty()) return;
  const nn::LossTotals totals = nn::evaluate(model, task.of(task.files.test));
  std::cout << "test " << examples::said(totals, task.has_accuracy) << std::endl;
}

Tokenization text_encoder(const models::TextReader& reader, const Options& o) {
  return {.tokenizer = reader.tokenizer.get(),
          .options = reader.encode_options({.max_length = o.max_length}),
          .feeds_type_ids = reader.feeds_type_ids,
          .report_cut = [&o](index_t texts, index_t tokens) { o.cut->add(texts, tokens); }};
}

/// A task whose model, made by make(), gives scores for classes; read(file, encode) makes examples.
template <class Make, class Read>
void learn_choice(const TrainingCommand& command, const Options& o, const char* name,
                  const std::vector<std::string>& labels, const Make& make, const Read& read) {
  examples::require_classes(o.train, labels);
  auto learner = make();
  const Tokenization encode = text_encoder(learner.reader, o);
  const text::Tokenizer& tokenizer = *encode.tokenizer;
  const auto scores = [&](const text::Batch& batch) { return learner.model(tokens_of(batch)); };
  const auto loss = [&](const TextData& data, Chosen chosen) {
    const text::Batch batch = batch_of(data.examples, chosen, tokenizer);
    return nn::summed_cross_entropy(scores(batch), batch.labels);
  };
  const auto read_file = [&](const std::string& file) { return read(file, encode); };
  fine_tune(command, o,
            {name, read_files(command, o, read_file), tokenizer, loss, true, labels, scores},
            learner, learner.model, learner.model.token_encoder);
}

/// Texts, or pairs of them, with a label each.
std::vector<text::LabelledText> labelled_lines(const std::string& file, bool pair) {
  return pair ? text::read_labelled_pairs(file) : text::read_labelled_lines(file);
}

void learn_classes(const TrainingCommand& command, const Options& o) {
  const auto labels = text::distinct_labels(labelled_lines(o.train, o.pair));
  const auto make = [&] { return models::make_text_classifier(o.model, labels); };
  const auto read = [&](const std::string& file, const Tokenization& encode) {
    return TextData{text::labelled_examples(labelled_lines(file, o.pair), labels, encode, file)};
  };
  learn_choice(command, o, "classification", labels, make, read);
}

void learn_tags(const TrainingCommand& command, const Options& o) {
  const auto labels = text::distinct_labels(text::read_tagged_tokens(o.train));
  const auto make = [&] { return models::make_token_tagger(o.model, labels); };
  const auto read = [&](const std::string& file, const Tokenization& encode) {
    return examples::tagged_texts(file, labels, encode);
  };
  learn_choice(command, o, "tokens", labels, make, read);
}

void learn_values(const TrainingCommand& command, const Options& o) {
  models::TextClassifier learner =
      models::make_text_classifier(o.model, {"value"}, models::Scoring::kNone);
  const Tokenization encode = text_encoder(learner.reader, o);
  Files files = read_files(command, o, [&](const std::string& file) {
    const auto lines = labelled_lines(file, o.pair);
    const std::vector<double> values = text::label_values(lines, file);
    TextData data = {text::encoded_examples(lines, encode, file)};
    for (std::size_t i = 0; i < values.size(); ++i) data.examples[i].label = values[i];
    return data;
  });
  double sum = 0;
  for (const text::Example& each : files.train.examples) sum += std::get<double>(each.label);
  const double mean = sum / static_cast<double>(files.train.examples.size());
  learner.model.classifier.bias = full({1}, mean);  // the prediction of an untrained model
  const auto loss = [&](const TextData& data, Chosen chosen) {
    const text::Batch batch = batch_of(data.examples, chosen, *encode.tokenizer);
    const Tensor values = learner.model(tokens_of(batch)).select(1, 0);
    return nn::summed_squared_error(values, batch.labels);
  };
  fine_tune(command, o, {"regression", std::move(files), *encode.tokenizer, loss, false}, learner,
            learner.model, learner.model.token_encoder);
}

void learn_pairs(const TrainingCommand& command, const Options& o) {
  const char* const why = "; a pair's negatives are the other pairs of its batch";
  const index_t processes = examples::processes().size(), shards = command.options.shards;
  require(processes == 1, kFineTune, "--task pairs must run in one process, got ", processes, why);
  require(shards == 1, kFineTune, "--shards must be 1 for --task pairs, got ", shards, why);
  require(
      o.fixed != "encoder", kFineTune,
      "--fixed must be nothing or embeddings for --task pairs, got encoder; pairs have no head");
  models::SentenceEncoder learner = models::load_sentence_encoder(o.model);
  for (const std::string& warning : learner.reader.warnings) command.warn(warning);
  auto* const words = std::get_if<models::TokenEncoder>(&learner.token_encoder);
  if (words == nullptr) {
    fail_file(o.model, "the model must have layers to train, got static embeddings");
  }
  const Tokenization encode = text_encoder(learner.reader, o);
  const auto vectors = [&](const std::vector<text::Example>& texts, Chosen chosen) {
    return learner(tokens_of(batch_of(texts, chosen, *encode.tokenizer)));
  };
  const auto loss = [&](const TextData& data, Chosen chosen) {
    const Tensor firsts = vectors(data.examples, chosen);  // before the others, as dropout draws
    return nn::summed_info_nce(firsts, vectors(data.partners, chosen),
                               {.temperature = kTemperature});
  };
  const auto read = [&](const std::string& file) {
    return examples::paired_texts(file, encode, learner.settings.lower_case);
  };
  fine_tune(command, o, {"pairs", read_files(command, o, read), *encode.tokenizer, loss}, learner,
            *words, *words);
}

void check_pair(bool pair, const std::string& task) {
  require(!pair || task == "classification" || task == "regression", kFineTune,
          "--task must be classification or regression for --pair, got ", task);
}

void run(const TrainingCommand& command, const Options& o) {
  require(!o.model.empty() && !o.train.empty() && !o.save.empty(), kFineTune,
          "--model DIR, --train FILE and --save DIR must all be given");
  if (o.task != "auto") check_pair(o.pair, o.task);
  manual_seed(command.options.seed);
  const std::string task = o.task == "auto" ? examples::guessed_task(o.train, o.pair) : o.task;
  if (task == "classification") return learn_classes(command, o);
  if (task == "regression") return learn_values(command, o);
  check_pair(o.pair, task);
  if (task == "tokens") return learn_tags(command, o);
  learn_pairs(command, o);
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  TrainingCommand command(
      kFineTune, "Trains a pretrained model on a file of examples and saves it as a folder.",
      {.epochs = 4, .batch_size = 32, .learning_rate = 1e-4}, examples::Trains::kPretrained);
  o.cut->report_by(command);
  command.add_input("--model", o.model, "folder of the pretrained model");
  command.add_input("--train", o.train, "training file");
  command.add_input("--test", o.test, "test file, evaluated at the end");
  command.add_output("--save", o.save, "folder for the trained model", examples::kOptional,
                     examples::FileUse::kFolder);
  command.add("--task", o.task,
              "kind of task; auto: classification, regression or tokens, by the file",
              {"auto", "classification", "regression", "tokens", "pairs"}, examples::kKept);
  command.add("--pair", o.pair, "input lines of label<TAB>text<TAB>text");
  command.add_held_out();
  command.add("--head-lr", o.head_lr, "peak learning rate of the new head", {0, 1e9},
              examples::kKept);
  command.add("--layer-decay", o.layer_decay,
              "learning rate of a layer relative to the layer above", {0, 1}, examples::kKept);
  command.add("--fixed", o.fixed, "part of the model that is not trained",
              {"nothing", "embeddings", "encoder"}, examples::kKept);
  command.add("--fixed-layers", o.frozen_layers,
              "layers that are not trained, like the embeddings, counted from the input",
              {0, examples::kMany}, examples::kKept);
  command.add("--max-length", o.max_length,
              "maximum number of tokens per text; 0: the limit of the model", {0, examples::kMany},
              examples::kKept);
  return command.run(argc, argv, [&] { run(command, o); });
}
