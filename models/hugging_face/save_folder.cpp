#include "models/hugging_face/save_folder.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/hugging_face/detail/family_files.h"
#include "models/hugging_face/detail/heads.h"
#include "models/hugging_face/detail/json_edit.h"
#include "models/hugging_face/detail/new_folder.h"
#include "models/hugging_face/detail/sentence_files.h"
#include "nn/state_dict.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/safetensors.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

/// The changes that give a config these labels; empty if it has them.
JsonMembers label_changes(const Json& config, const std::vector<std::string>& labels,
                          const Tensor& classifier) {
  require(classifier.size(0) == std::ssize(labels), kSaveFolderOp, "number of labels must be ",
          classifier.size(0), ", the rows of classifier.weight, got ", labels.size());
  JsonMembers names, numbers;
  std::map<std::string_view, std::size_t> places;  // labels may share a name, but not a key
  for (std::size_t i = 0; i < labels.size(); ++i) {
    names.emplace_back(std::to_string(i), JsonText(labels[i], kSaveFolderOp));
    const auto [place, is_new] = places.emplace(labels[i], numbers.size());
    if (is_new) {
      numbers.emplace_back(labels[i], i);
    } else {
      numbers[place->second].second = i;
    }
  }
  JsonMembers changes = {{"id2label", JsonObject(kObjectInLine).add(names)},
                         {"label2id", JsonObject(kObjectInLine).add(numbers)}};
  if (config.has("num_labels")) {
    changes.emplace_back("num_labels", labels.size());
  }
  return changes;
}

/// Adds the problem_type of the task's scoring for transformers, if the config has a different one:
/// for a new head the config's belongs to another model. A cross-encoder has its own key.
void add_scoring(const Json& config, const TextClassifier& task, JsonMembers& changes) {
  const auto read = task.is_cross_encoder ? pair_scoring : text_scoring;
  if (read(config, std::ssize(task.labels)) == task.scoring) return;
  const auto choose = [&](const char* none, const char* sigmoid, const char* softmax) {
    return task.scoring == Scoring::kNone      ? none
           : task.scoring == Scoring::kSigmoid ? sigmoid
                                               : softmax;
  };
  if (!task.is_cross_encoder) {
    changes.emplace_back("problem_type", choose("regression", "multi_label_classification",
                                                "single_label_classification"));
    return;
  }
  const JsonMembers changed = {{"activation_fn", choose("torch.nn.modules.linear.Identity",
                                                        "torch.nn.modules.activation.Sigmoid",
                                                        "torch.nn.modules.activation.Softmax")}};
  const auto settings = config.find("sentence_transformers");
  changes.emplace_back("sentence_transformers", settings
                                                    ? JsonText::written(edited(*settings, changed))
                                                    : JsonObject(kObjectInLine).add(changed));
}

void finish(NewFolder& folder, const SaveOptions& options) {
  if (options.dry_run) {
    folder.check_place();
  } else {
    folder.take_the_place();
  }
}

/// Writes a folder with one model of a family.
void save(const fs::path& to, const ModelFolder& from, const SavedModel& model,
          const SaveOptions& options) {
  NewFolder folder(to, options.overwrite);
  write_model(folder.path(), from, model);
  finish(folder, options);
}

/// Only the encoder, with the folder's pooler, which other models of the family may use.
SavedModel encoder_alone(const ModelFolder& from, const TokenEncoder& encoder) {
  SavedModel model = {.task = "", .parameters = nn::state_dict(encoder)};
  for (const char* name : {"pooler.dense.weight", "pooler.dense.bias"}) {
    if (const auto shape = from.shape(name)) {
      model.parameters.emplace(name, from.weight(name, *shape));
    }
  }
  return model;
}

}  // namespace

void save_folder(const fs::path& to, const fs::path& from, const TextClassifier& task,
                 const SaveOptions& options) {
  const ModelFolder folder(from);
  JsonMembers config = label_changes(folder.config, task.labels, task.model.classifier.weight);
  add_scoring(folder.config, task, config);
  save(to, folder,
       {.task = "ForSequenceClassification",
        .parameters = nn::state_dict(task.model),
        .config = std::move(config)},
       options);
}

void save_folder(const fs::path& to, const fs::path& from, const TokenTagger& task,
                 const SaveOptions& options) {
  const ModelFolder folder(from);
  JsonMembers config = label_changes(folder.config, task.labels, task.model.classifier.weight);
  save(to, folder,
       {.task = "ForTokenClassification",
        .parameters = nn::state_dict(task.model),
        .renames = token_classifier_renames(*folder.family),
        .config = std::move(config)},
       options);
}

void save_folder(const fs::path& to, const fs::path& from, const QuestionAnswerer& task,
                 const SaveOptions& options) {
  save(to, ModelFolder(from),
       {.task = "ForQuestionAnswering",
        .parameters = nn::state_dict(task.model),
        .renames = kAnswerRenames},
       options);
}

void save_folder(const fs::path& to, const fs::path& from, const MaskFiller& task,
                 const SaveOptions& options) {
  save(to, ModelFolder(from), {.task = "ForMaskedLM", .parameters = nn::state_dict(task.model)},
       options);
}

void save_folder(const fs::path& to, const fs::path& from, const TokenEncoder& encoder,
                 const SaveOptions& options) {
  const ModelFolder folder(from);
  save(to, folder, encoder_alone(folder, encoder), options);
}

namespace {

/// modules.json, row by row.
class ModuleList {
 public:
  /// The name of the next module's folder, unless `path` gives one.
  std::string add(const std::string& kind, const std::string& path) {
    rows_.add(JsonObject(kObjectInLine)
                  .add("idx", count_)
                  .add("name", std::to_string(count_))
                  .add("path", path)
                  .add("type", "sentence_transformers.models." + kind));
    ++count_;
    return path;
  }
  std::string add(const std::string& kind) {
    return add(kind, std::to_string(count_) + '_' + kind);
  }
  std::string text() const { return rows_.text() + '\n'; }

 private:
  JsonList rows_{kJsonLines};
  index_t count_ = 0;
};

/// Writes the encoder with its pooling, or the table, and the tokenizer. Returns their folder.
fs::path write_words(const NewFolder& folder, const fs::path& from, const SentenceEncoder& model,
                     ModuleList& modules) {
  if (const auto* const encoder = std::get_if<TokenEncoder>(&model.words)) {
    modules.add("Transformer", "");
    const ModelFolder files(from);
    write_model(folder.path(), files, encoder_alone(files, *encoder));
    write_pooling(folder.subfolder(modules.add("Pooling")), model.pooling,
                  files.options.encoder.width());
    return folder.path();
  }
  const fs::path path = folder.subfolder(modules.add("StaticEmbedding"));
  save_safetensors(path / "model.safetensors",
                   {{"embedding.weight", std::get<nn::Embedding>(model.words).weight}});
  copy_tokenizer(path, from);
  return path;
}

}  // namespace

void save_folder(const fs::path& to, const fs::path& from, const SentenceEncoder& model,
                 const SaveOptions& options) {
  const fs::path words = read_module_rows(from).front().folder;
  NewFolder folder(to, options.overwrite);
  ModuleList modules;
  const fs::path place = write_words(folder, words, model, modules);
  for (const SentenceModule& module : model.modules) {
    write_module(folder.subfolder(modules.add(kind_of(module))), module);
  }
  SentenceSettings settings = model.settings;
  settings.max_length = model.reader.max_length;
  write_settings(folder.path(), place, settings, from);
  write_text(folder.path() / "modules.json", modules.text());
  finish(folder, options);
}

}  // namespace tessera::models
