// A model's folder in the format of Hugging Face's libraries: config.json and weights.
//
//   const ModelFolder folder("all-MiniLM-L6-v2");
//   const TokenEncoder encode = load_encoder(folder);
//   Tensor vectors = encode({ids, lengths});                      // (B, T, 384)
//
// A model with a head is made from the folder's options, and gets its parameters from the folder:
//
//   const SequenceClassifierOptions options = {.token_encoder = folder.options, .num_labels = 2};
//   const auto model = load_model<SequenceClassifier>(options, folder);
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/models/token_encoder.h"
#include "tessera/nn/module.h"
#include "tessera/nn/parameter_source.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::models {

struct Family;
class WeightFiles;
struct TensorNames;

/// A parameter `from`.X of a model gets the value of parameter `to`.X of the folder, for any X.
struct Rename {
  std::string from;
  std::string to;
};

/// `name` after the first rename that matches; unchanged if none does.
std::string renamed(const std::string& name, const std::vector<Rename>& renames);

/// A folder with a config.json and weights of a supported family. The constructor reads the config
/// and the list of tensors; the elements of tensors are read on request. In the functions, `name`
/// is our name of a parameter: the name in this library's models, not in the files.
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
  /// The encoder's options. max_positions is the longest sequence, including special tokens;
  /// type_vocab_size is 0 if the model reads none.
  TokenEncoderOptions options;

  /// Whether the files have the tensors of our parameter `name`.
  bool has(const std::string& name) const;
  /// The shape of our parameter `name`; nullopt if the files lack it.
  std::optional<Shape> shape(const std::string& name) const;
  /// Our parameter `name`, in float32. **Errors**: the files lack the parameter, or have it in a
  /// different shape.
  Tensor weight(const std::string& name, const Shape& shape) const;
  /// For errors: the name of the first tensor that belongs to our parameter `name`, and its file.
  /// **Errors**: the files lack the parameter.
  std::string place(const std::string& name) const;
  /// A source of the folder's parameters, by our names after `renames`. This object must live until
  /// the model is made. Large tensors in float32 are mapped from the file, not copied. Tensors that
  /// form one parameter, such as q, k and v, are copied. **Errors**: as weight.
  nn::ParameterSource source(const std::vector<Rename>& renames = {}) const;
  /// Throws if the files have a tensor of the encoder that `model` lacks, because every output
  /// would be wrong. The names in `model` are those before `renames`.
  void require_encoder_in(const nn::StateDict& model,
                          const std::vector<Rename>& renames = {}) const;
  /// The names that the family's files can have for the tensors of our parameter `name`, even if
  /// these files lack them. The most likely name is first, and save_folder uses it. Empty: no model
  /// of the family has the parameter.
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
/// that the model lacks; the errors of M's constructor.
template <nn::Module M, class Options>
M load_model(const Options& options, const ModelFolder& folder,
             const std::vector<Rename>& renames = {}) {
  const ProfileScope scope("load weights");
  M model(options, folder.source(renames));
  folder.require_encoder_in(nn::state_dict(model), renames);
  nn::eval(model);
  return model;
}

/// The folder's encoder with its weights, in evaluation mode. Heads and poolers are not loaded.
/// **Errors**: as load_model.
TokenEncoder load_encoder(const ModelFolder& folder);

}  // namespace tessera::models
