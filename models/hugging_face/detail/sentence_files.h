// The list of the modules of a sentence-transformers folder, and the files of each module.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/models/hugging_face/detail/weight_files.h"
#include "tessera/models/hugging_face/multi_vector_encoder.h"
#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"

namespace tessera::models {

/// A row of modules.json.
struct ModuleRow {
  std::string kind;              // the last part of its type: "Pooling"
  bool is_pylate;                // the type is PyLate's, not sentence-transformers'
  std::filesystem::path folder;  // of the module's files
  std::string place;             // of the type, for errors
};

/// The rows of modules.json; without that file, one row, a Transformer.
/// **Errors**, here and below: std::runtime_error that names the file, the key, the rule and the
/// value; a folder outside `folder`.
std::vector<ModuleRow> read_module_rows(const std::filesystem::path& folder);

/// Reads the poolings and the modules of the rows after the first. model.width is that of the vectors
/// of tokens before, and that of an embedding afterwards. `pooling`, if given, replaces the poolings.
void read_modules(const std::vector<ModuleRow>& rows, const std::optional<Pooling>& pooling,
                  SentenceEncoder& model);

/// x itself: the activation of a Dense without one.
Tensor identity(const Tensor& x);

/// Whether the ColBERT library wrote this config.json.
bool is_stanford_colbert(const Json& config);

/// Reads the Dense of a row, for inputs of a width; `input` is the name of what it maps,
/// "sentence_embedding" or "token_embeddings".
Dense read_dense(const ModuleRow& row, index_t width, std::string_view input);

/// The number of rows of the weight `name`. **Errors**: a shape other than (rows, width).
index_t rows_of(const WeightFiles& files, const std::string& name, index_t width);

/// The files of bge-m3's two layers, next to the encoder's.
inline constexpr std::string_view kM3Sparse = "sparse_linear.safetensors";
inline constexpr std::string_view kM3Multi = "colbert_linear.safetensors";

/// The layer in one of these files, for inputs of a width; absent without the file. **Errors**: also
/// a .pt file of the same name in its place.
std::optional<nn::Linear> find_m3_layer(const std::filesystem::path& folder, std::string_view file,
                                        index_t width);

/// The tokens to which bge-m3 gives no weight, and its settings for several vectors.
std::vector<index_t> m3_skipped(const text::Tokenizer& tokenizer);
MultiVectorSettings m3_settings(index_t max_length);

/// Writes the files of a Dense; `input` as in read_dense.
/// **Errors**: std::invalid_argument: an activation without a name in sentence-transformers.
void write_dense(const std::filesystem::path& folder, const Dense& dense, std::string_view input);

/// Writes the config of the model's poolings, whose input has the width `width`, or the files of a
/// module, into an existing folder. A Normalize has no files.
/// **Errors**: std::invalid_argument: an activation without a name in sentence-transformers.
void write_poolings(const std::filesystem::path& folder, const SentenceEncoder& model,
                    index_t width);
void write_module(const std::filesystem::path& folder, const SentenceModule& module);

/// The last part of a module's type in modules.json.
const char* kind_of(const SentenceModule& module);

/// The vectors of a StaticEmbedding, (V, D): `embedding.weight`, or `embeddings` of model2vec with
/// its optional `mapping` (from tokens to rows) and `weights` (of tokens).
/// **Source**: sentence_transformers' StaticEmbedding; github.com/MinishLab/model2vec.
nn::Embedding read_static_embedding(const std::filesystem::path& folder);

/// The tokenizer of a StaticEmbedding with `rows` vectors: tokenizer.json with its truncation, and
/// none of the files next to it.
TextReader read_static_reader(const std::filesystem::path& folder, index_t rows);

}  // namespace tessera::models
