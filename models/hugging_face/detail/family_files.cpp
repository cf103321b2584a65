#include "models/hugging_face/detail/family_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "models/hugging_face/detail/family.h"
#include "tensor/autograd/tape.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/safetensors.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

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

void check_shape(const ModelFolder& from, const std::string& name, const Tensor& parameter) {
  const auto shape = from.shape(name);
  require(shape == parameter.shape(), kSaveFolderOp, printable(name), " must be as in ",
          printable(from.path.string()), ", ", shape ? str_cat("of shape ", *shape) : "absent",
          ", got shape ", parameter.shape(), "; give the folder that the model was made from");
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
  const nn::StateDict wanted = nn::state_dict(TokenEncoder(from.options, nn::Source(find)));
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
    if (inside && !name.starts_with("head.")) check_shape(from, name, parameter);
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

}  // namespace

void copy_tokenizer(const fs::path& to, const fs::path& from) {
  for (const char* name : kTokenizerFiles) {
    if (fs::exists(from / name)) copy_one(to / name, from / name);
  }
}

void write_model(const fs::path& to, const ModelFolder& from, const SavedModel& model) {
  const NoGrad not_recorded;
  check_config(from, model);
  write_text(to / "config.json", config_text(from, model));
  save_safetensors(to / "model.safetensors", family_tensors(from, model));
  copy_tokenizer(to, from.path);
  copy_code(to, from);
}

}  // namespace tessera::models
