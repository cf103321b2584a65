#include "tessera/models/hugging_face/save_folder.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/models/hugging_face/detail/family.h"
#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/models/hugging_face/detail/json_edit.h"
#include "tessera/models/hugging_face/detail/new_folder.h"
#include "tessera/models/hugging_face/detail/sentence_files.h"
#include "tessera/models/hugging_face/detail/sentence_settings.h"
#include "tessera/models/hugging_face/folder.h"
#include "tessera/nn/state_dict.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/safetensors.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

/// The name of the operation in its errors.
constexpr const char* kSaveFolderOp = "save_folder";

/// The form in which a folder's model is saved.
struct SavedModel {
  std::string_view task;             // "ForSequenceClassification"; empty: only the encoder
  nn::StateDict parameters;          // by our names
  std::vector<Rename> renames = {};  // of the parameters, as for load_model
  JsonMembers config = {};           // further changes to config.json
};

/// The files of tokenizers of any kind, old and new.
constexpr std::array kTokenizerFiles = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "tokenizer.model",
    "unigram.json",
};

void copy_one(const fs::path& to, const fs::path& from) {
  const InputFile file(from);
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, bytes.data(), file.size());
  write_text(to, bytes);
}

/// Copies the code that config.json's auto_map names, if it is in the folder itself.
void copy_code(const fs::path& to, const ModelFolder& from) {
  if (!from.config.has("auto_map")) return;
  for (const auto& file : fs::directory_iterator(from.path)) {
    if (file.path().extension() == ".py") copy_one(to / file.path().filename(), file.path());
  }
}

/// Whether the tables place our parameter in the encoder, which has the prefix in a model with a
/// head. In all families the pooler is a part of the encoder.
bool is_of_encoder(const Family& family, const std::string& theirs, const std::string& ours) {
  return theirs.starts_with("pooler.") ||
         std::ranges::any_of(family.encoder_names, [&](const WeightName& line) {
           return tensor_names(line, ours, 1).has_value();
         });
}

/// Checks that the written config describes the model's encoder; otherwise no loader could read it.
void check_config(const ModelFolder& from, const SavedModel& model) {
  nn::StateDict given;
  for (const auto& [name, parameter] : model.parameters) {
    given.emplace(renamed(name, model.renames), parameter);
  }
  const auto fails = [&](const std::string& name, const auto& wanted, const auto& got) {
    fail(kSaveFolderOp, printable(name), " must be ", wanted, " by config.json in ",
         printable(from.path.string()), ", got ", got,
         "; give the folder that the model was made from");
  };
  const auto find = [&](const std::string& name, const Shape& shape, const nn::Init&) {
    const auto found = given.find(name);
    if (found == given.end()) fails(name, str_cat("of shape ", shape), "none");
    if (found->second.shape() != shape) {
      fails(name, str_cat("of shape ", shape), str_cat("shape ", found->second.shape()));
    }
    return found->second;
  };
  const nn::StateDict wanted =
      nn::state_dict(TokenEncoder(from.options, nn::ParameterSource(find)));
  for (const auto& [name, parameter] : given) {
    const bool is_of_encoder = name.starts_with("encoder.") || name.starts_with("embeddings.");
    if (is_of_encoder && !wanted.contains(name)) {
      fails(name, "absent", str_cat("shape ", parameter.shape()));
    }
  }
}

std::map<std::string, Tensor> family_tensors(const ModelFolder& from, const SavedModel& model) {
  const std::string prefix(model.task.empty() ? "" : from.family->prefix);
  std::map<std::string, Tensor> tensors;
  for (const auto& [given, parameter] : model.parameters) {
    const std::string name = renamed(given, model.renames);
    const std::vector<TensorNames> places = from.names_of(name);
    require(!places.empty(), kSaveFolderOp, "parameter must be one of the family ",
            from.family->name, ", got ", printable(name));
    const TensorNames& theirs = places.front();
    const bool inside = is_of_encoder(*from.family, theirs.names.front(), name);
    const std::vector<Tensor> parts = cut(theirs, parameter.to(kFloat32));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      tensors.emplace(inside ? prefix + theirs.names[i] : theirs.names[i], parts[i]);
    }
  }
  return tensors;
}

std::string config_text(const ModelFolder& from, const SavedModel& model) {
  const std::string name =
      std::string(from.family->classes) + std::string(model.task.empty() ? "Model" : model.task);
  JsonMembers changes = {{"architectures", JsonList().add(name)}};
  for (const char* key : {"torch_dtype", "dtype"}) {
    if (from.config.has(key)) changes.emplace_back(key, "float32");
  }
  changes.insert(changes.end(), model.config.begin(), model.config.end());
  return edited(from.config, changes);
}

/// Copies those of the files that exist.
void copy_existing(const fs::path& to, const fs::path& from, const auto& names) {
  for (const auto& name : names) {
    if (fs::exists(from / name)) copy_one(to / name, from / name);
  }
}

/// Writes config.json, model.safetensors and the tokenizer's files of a model that was opened
/// `from` a folder.
/// Errors: std::invalid_argument: a parameter that no model of the family has, or one of the
/// encoder with a shape different from that in `from`; std::runtime_error that names the file.
void write_model(const fs::path& to, const ModelFolder& from, const SavedModel& model) {
  const NoGrad not_recorded;
  check_config(from, model);
  write_text(to / "config.json", config_text(from, model));
  save_safetensors(to / "model.safetensors", family_tensors(from, model));
  copy_existing(to, from.path, kTokenizerFiles);
  copy_code(to, from);
}

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
SavedModel only_encoder(const ModelFolder& from, const TokenEncoder& encoder) {
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
  const ModelFolder folder(from);
  JsonMembers config;
  if (folder.config.has("legacy"))
    config.emplace_back("legacy", true);  // DeBERTa's names of a head
  save(to, folder,
       {.task = "ForMaskedLM",
        .parameters = nn::state_dict(task.model),
        .config = std::move(config)},
       options);
}

void save_folder(const fs::path& to, const fs::path& from, const TokenEncoder& encoder,
                 const SaveOptions& options) {
  const ModelFolder folder(from);
  save(to, folder, only_encoder(folder, encoder), options);
}

namespace {

/// modules.json, row by row.
class ModuleList {
 public:
  /// Adds a module; returns the name of its folder.
  std::string add(const std::string& kind,
                  const std::string& library = "sentence_transformers.models.") {
    const std::string number = std::to_string(count_++);
    const std::string path =
        count_ == 1 && kind.ends_with("Transformer") ? "" : number + '_' + kind;
    rows_.add(JsonObject(kObjectInLine)
                  .add("idx", count_ - 1)
                  .add("name", number)
                  .add("path", path)
                  .add("type", library + kind));
    return path;
  }
  std::string text() const { return rows_.text() + '\n'; }

 private:
  JsonList rows_{kJsonLines};
  index_t count_ = 0;
};

std::string settings_text(const TextReader& reader) {
  return str_cat("max_length ", reader.max_length, ", truncation_side ",
                 reader.truncation_side == text::Side::kLeft ? "left" : "right",
                 ", add_special_tokens ", reader.add_special_tokens ? "true" : "false");
}

/// Writes the encoder with its pooling, or the table, and the tokenizer.
void write_words(const NewFolder& folder, const fs::path& from, const SentenceEncoder& model,
                 ModuleList& modules) {
  if (const auto* const encoder = std::get_if<TokenEncoder>(&model.token_encoder)) {
    modules.add("Transformer");
    const ModelFolder files(from);
    write_model(folder.path(), files, only_encoder(files, *encoder));
    write_poolings(folder.subfolder(modules.add("Pooling")), model, files.options.encoder.width());
    return;
  }
  const fs::path path = folder.subfolder(modules.add("StaticEmbedding"));
  save_safetensors(
      path / "model.safetensors",
      {{"embedding.weight", std::get<nn::Embedding>(model.token_encoder).weight->to(kFloat32)}});
  copy_existing(path, from, kTokenizerFiles);
  const TextReader saved = read_static_reader(path, model.reader.tokenizer->vocabulary().size());
  const bool fits = saved.max_length == model.reader.max_length &&
                    saved.truncation_side == model.reader.truncation_side &&
                    saved.add_special_tokens == model.reader.add_special_tokens;
  require(fits, "save_folder",
          "max_length, truncation_side and add_special_tokens of the reader of static embeddings "
          "must be those of tokenizer.json, ",
          settings_text(saved), ", got ", settings_text(model.reader));
}

/// Writes the settings and the list of modules, and finishes the folder.
void finish_modules(NewFolder& folder, const ModuleList& modules, const fs::path& from,
                    const SentenceSettings& settings, const TextReader& reader,
                    const JsonMembers& more, const SaveOptions& options, bool has_encoder = true) {
  write_settings(folder.path(), has_encoder ? folder.path() : fs::path(), settings,
                 reader.max_length, from, more);
  write_text(folder.path() / "modules.json", modules.text());
  finish(folder, options);
}

/// Writes a folder with the modules of `model`, and the layers of bge-m3 that `from` has; the one in
/// the file `changed`, if not empty, is `layer`.
void save_modules(const fs::path& to, const fs::path& from, const SentenceEncoder& model,
                  std::string_view changed, const nn::Linear* layer, const JsonMembers& more,
                  const SaveOptions& options) {
  const fs::path words = read_module_rows(from).front().folder;
  NewFolder folder(to, options.overwrite);
  ModuleList modules;
  write_words(folder, words, model, modules);
  for (const fs::path file : {kM3Sparse, kM3Multi}) {
    if (file == changed) {
      save_safetensors(folder.path() / file, {{"weight", layer->weight->to(kFloat32)},
                                              {"bias", layer->bias.to(kFloat32)}});
    } else {
      copy_existing(folder.path(), words, std::array{file, fs::path(file).replace_extension("pt")});
    }
  }
  for (const SentenceModule& module : model.modules) {
    write_module(folder.subfolder(modules.add(kind_of(module))), module);
  }
  finish_modules(folder, modules, from, model.settings, model.reader, more, options,
                 std::holds_alternative<TokenEncoder>(model.token_encoder));
}

/// Writes a folder of bge-m3 with this layer; the other layer and the modules are those of `from`.
template <class Model>
void save_m3(const fs::path& to, const fs::path& from, const Model& model,
             const TokenEncoder& encoder, std::string_view file, const nn::Linear& layer,
             const JsonMembers& more, const SaveOptions& options) {
  const NoGrad not_recorded;
  SentenceEncoder single = {model.reader, encoder, model.settings, layer.weight.size(1)};
  read_modules(read_module_rows(from), {}, single);
  save_modules(to, from, single, file, &layer, more, options);
}

}  // namespace

void save_folder(const fs::path& to, const fs::path& from, const SentenceEncoder& model,
                 const SaveOptions& options) {
  save_modules(to, from, model, {}, nullptr, {}, options);
}

namespace {

/// The keys that PyLate adds to config_sentence_transformers.json.
JsonMembers multi_vector_members(const MultiVectorEncoder& model) {
  const MultiVectorSettings& multi = model.multi;
  const auto token = [&](index_t id) {
    return JsonText(model.reader.tokenizer->token(id), kSaveFolderOp);
  };
  const auto prefix = [&](const std::optional<index_t>& id) {
    return id ? token(*id) : JsonText("");
  };
  return {{"similarity_fn_name", "MaxSim"},
          {"query_prefix", prefix(multi.query_prefix)},
          {"document_prefix", prefix(multi.document_prefix)},
          {"query_length", multi.query_length},
          {"document_length", multi.document_length},
          {"do_query_expansion", multi.expansion.has_value()},
          {"attend_to_expansion_tokens", multi.attend_to_expansion_tokens},
          {"skiplist_words", json_list(multi.skiplist, token, kListInLine)},
          {"model_type", "ColBERT"}};
}

}  // namespace

void save_folder(const fs::path& to, const fs::path& from, const MultiVectorEncoder& model,
                 const SaveOptions& options) {
  if (model.multi.skips_first || model.multi.averages) {
    const bool has_layer = model.projections.size() == 1 &&
                           model.projections[0].linear.bias.defined() &&
                           model.projections[0].activation == identity;
    require(model.multi == m3_settings(model.reader.max_length) && has_layer, kSaveFolderOp,
            "with skips_first or averages, all settings must be bge-m3's, and there must be one "
            "projection, with a bias and no activation");
    return save_m3(to, from, model, model.token_encoder, kM3Multi, model.projections[0].linear, {},
                   options);
  }
  const ModelFolder files(read_module_rows(from).front().folder);
  NewFolder folder(to, options.overwrite);
  ModuleList modules;
  modules.add("Transformer");
  write_model(folder.path(), files, only_encoder(files, model.token_encoder));
  for (const Dense& projection : model.projections) {
    write_dense(folder.subfolder(modules.add("Dense", "pylate.models.Dense.")), projection,
                "token_embeddings");
  }
  finish_modules(folder, modules, from, model.settings, model.reader, multi_vector_members(model),
                 options);
}

void save_folder(const fs::path& to, const fs::path& from, const SparseEncoder& model,
                 const SaveOptions& options) {
  JsonMembers members = {{"max_active_dims", model.max_active_dims > 0
                                                 ? std::optional(model.max_active_dims)
                                                 : std::nullopt}};
  if (const auto* const weights = std::get_if<TokenWeights>(&model.model)) {
    require(weights->skipped == m3_skipped(*model.reader.tokenizer) &&
                weights->linear.weight.size(0) == 1 && weights->linear.bias.defined(),
            kSaveFolderOp,
            "TokenWeights must skip all special tokens except the mask, and its layer must have "
            "one row and a bias");
    return save_m3(to, from, model, weights->token_encoder, kM3Sparse, weights->linear, members,
                   options);
  }
  const auto& splade = std::get<Splade>(model.model);
  const ModelFolder files(read_module_rows(from).front().folder);
  NewFolder folder(to, options.overwrite);
  ModuleList modules;
  const std::string library = "sentence_transformers.sparse_encoder.models.";
  modules.add("MLMTransformer", library);
  write_model(folder.path(), files, {.task = "ForMaskedLM", .parameters = nn::state_dict(splade)});
  write_text(folder.subfolder(modules.add("SpladePooling", library)) / "config.json",
             file_of({{"pooling_strategy", splade.sum_pooling ? "sum" : "max"},
                      {"activation_function", splade.double_log ? "log1p_relu" : "relu"}}));
  members.insert(members.begin(), {{"similarity_fn_name", "dot"}, {"model_type", "SparseEncoder"}});
  finish_modules(folder, modules, from, model.settings, model.reader, members, options);
}

}  // namespace tessera::models
