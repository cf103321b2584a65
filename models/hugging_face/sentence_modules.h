// The modules between a sentence's tokens and its embedding: a pooling, then maps of vectors.
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "models/pooling.h"
#include "models/tokens.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace tessera::models {

/// One vector a sentence: that of each mode, one after the other.
///
/// **Shapes**: x (B, T, D) -> (B, modes D). Without `include_prompt` the first `prompt` tokens of
/// each row do not count, though positions count from the row's begin; a row that has no others
/// gives zeros.
/// **Source**: sentence_transformers.models.Pooling.
struct SentencePooling {
  std::vector<Pooling> modes = {Pooling::kMean};
  bool include_prompt = true;

  Tensor operator()(const Tensor& x, const Tokens& tokens, index_t prompt = 0) const;
};

/// x / max(|x|, 1e-12) along the last axis. **Shapes**: (..., D) -> the same.
struct Normalize {
  Tensor operator()(const Tensor& x) const;
};

/// activation(x W^T + b). **Shapes**: (..., in) -> (..., out).
struct Dense {
  nn::Linear linear;
  Tensor (*activation)(const Tensor& x);

  Tensor operator()(const Tensor& x) const { return activation(linear(x)); }
};

using SentenceModule = std::variant<Normalize, Dense, nn::LayerNorm>;

/// A row of modules.json.
struct ModuleRow {
  std::string kind;              // the last part of its type: "Pooling"
  std::filesystem::path folder;  // with its files
  std::string place;             // of the type, for errors
};

/// The rows of modules.json; if there is no such file, only a Transformer.
/// **Errors**, here and below: std::runtime_error that names the file, the key, what is wanted and
/// what is there; a folder outside of `folder`.
std::vector<ModuleRow> read_module_rows(const std::filesystem::path& folder);

/// The pooling of a module's folder, for vectors of `width`.
SentencePooling read_pooling(const std::filesystem::path& folder, index_t width);

/// Appends the module of a row, whose input has `width` columns; a Dropout is none. Returns how
/// many columns its output has.
index_t add_module(const ModuleRow& row, index_t width, std::vector<SentenceModule>& modules);

/// Writes the files of a pooling of vectors of `width`, and of a module, into its folder, which is
/// there. A Normalize has none.
/// **Errors**: std::invalid_argument: an activation that has no name there.
void write_pooling(const std::filesystem::path& folder, const SentencePooling& pooling,
                   index_t width);
void write_module(const std::filesystem::path& folder, const SentenceModule& module);

/// The last part of a module's type in modules.json.
const char* kind_of(const SentenceModule& module);

/// A table of vectors that are the model's own input, as model2vec makes it: (V, D).
nn::Embedding read_static_embedding(const std::filesystem::path& folder);

}  // namespace tessera::models
