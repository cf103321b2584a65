// A model's folder in the format of Hugging Face's libraries: config.json and weights.
//
//   const ModelFolder folder("all-MiniLM-L6-v2");
//   const TokenEncoder encode = load_encoder(folder);
//   Tensor vectors = encode({ids, lengths});                      // (B, T, 384)
//
// A model with a head is made from the folder's options, and gets its parameters from the folder:
//
//   const SequenceClassifierOptions options = {.tokens = folder.options, .classes = 2};
//   const auto model = load_model<SequenceClassifier>(options, folder);
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/token_encoder.h"
#include "nn/module.h"
#include "nn/source.h"
#include "tensor/io/json.h"
#include "tensor/profile_span.h"

namespace tessera::models {

struct Family;
class WeightFiles;
struct TensorNames;

/// A parameter `from`.* of a model is loaded under the name `to`.*.
struct Rename {
  std::string from;
  std::string to;
};

/// The name after the first rename that matches it.
std::string renamed(const std::string& name, const std::vector<Rename>& renames);

/// A folder with a config.json and weights of a supported family. The constructor reads the config
/// and the list of tensors; the elements of tensors are read on request.
///
/// **Errors**, throughout: std::runtime_error, one line that names the file, the key or the tensor,
/// the rule and the value.
/// **Source**: from_pretrained of transformers.PreTrainedModel.
class ModelFolder {
 public:
  /// **Errors**: a file that is missing or malformed; an unknown family; sizes out of range;
  /// adapters (LoRA), pruned heads and quantised weights, which are not supported.
  explicit ModelFolder(const std::filesystem::path& folder);

  std::filesystem::path path;
  Json config;
  const Family* family;
  /// The encoder's options. max_tokens is the longest sequence, including special tokens;
  /// token_types is 0 if the model reads none.
  TokenEncoderOptions options;

  /// Whether the files have the tensors of our parameter `name`.
  bool has(const std::string& name) const;
  /// The shape of our parameter `name`, if the files have it.
  std::optional<Shape> shape(const std::string& name) const;
  /// Our parameter `name`, in float32. **Errors**: the parameter does not exist, or has a different
  /// shape.
  Tensor weight(const std::string& name, const Shape& shape) const;
  /// The first tensor of the files in our parameter `name`, and the tensor's file, for errors.
  /// **Errors**: it does not exist.
  std::string place(const std::string& name) const;
  /// A source of the files' tensors, by our names after `renames`. The folder must live until the
  /// model is made. The model shares the tensors; large ones are mapped, not read. Tensors that
  /// form one parameter, such as q, k and v, are copied. **Errors**: as weight.
  nn::Source source(const std::vector<Rename>& renames = {}) const;
  /// Throws if the files have a layer, or a part of a layer, that `model` lacks, because every
  /// output would be wrong. The names in `model` are those before `renames`.
  void require_layers_in(const nn::StateDict& model, const std::vector<Rename>& renames = {}) const;
  /// The names that the tensors of our parameter `name` can have in files of the family, in these
  /// files or not. The most likely name is first, and save_folder uses it. Empty: no model of the
  /// family has the parameter.
  std::vector<TensorNames> names_of(const std::string& name) const;

 private:
  /// The first of names_of(name) that the files have, as the files spell them.
  std::optional<TensorNames> find(const std::string& name) const;
  TensorNames find_or_fail(const std::string& name) const;
  std::optional<std::string> spelling_of(const std::string& theirs) const;
  [[noreturn]] void fail_missing(const std::string& name) const;

  std::shared_ptr<const WeightFiles> files_;
  index_t group_size_ = 1;
};

/// A model with the folder's parameters, in evaluation mode. BERT's next-sentence head can be
/// loaded as a classifier:
///
///     load_model<SequenceClassifier>(options, folder, {{"classifier", "cls.seq_relationship"}});
///
/// **Errors**: a parameter that the files lack or have in a different shape; a layer of the files
/// that the model lacks.
template <nn::Module M, class Options>
M load_model(const Options& options, const ModelFolder& folder,
             const std::vector<Rename>& renames = {}) {
  const ProfileScope scope("load weights");
  M model(options, folder.source(renames));
  folder.require_layers_in(nn::state_dict(model), renames);
  nn::eval(model);
  return model;
}

/// The folder's encoder with its weights, in evaluation mode. Heads and poolers are not loaded.
TokenEncoder load_encoder(const ModelFolder& folder);

}  // namespace tessera::models
