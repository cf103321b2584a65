// Converts texts to sparse vectors, with a weight for each token of the vocabulary, as SPLADE.
//
//   const auto model = models::load_sparse_encoder("splade-cocondenser-ensembledistil");
//   const std::vector<models::SparseVector> documents = model.encode_document(lines);
//   const models::SparseVector query = model.encode_query({"Who built Rome?"}).front();
//   const float score = models::dot(query, documents[0]);
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/models/masked_lm.h"

namespace tessera::models {

/// The weights above 0 of a text, by ascending ids of tokens.
struct SparseVector {
  std::vector<index_t> ids = {};
  std::vector<float> weights = {};

  bool operator==(const SparseVector&) const = default;
};

/// The sum of the products of the weights that both vectors have, in float32, by ascending ids.
float dot(const SparseVector& a, const SparseVector& b);

/// The `count` largest weights; of equal weights, those of the lower ids. **Errors**: a negative
/// count.
SparseVector largest(const SparseVector& vector, index_t count);

/// An encoder of texts as sparse vectors, by the scores of a masked language model:
///
///     weight(v) = max over the tokens of log(1 + relu(score(token, v)))
///
/// with `sum_pooling` the sum over the tokens, and with `double_log` log(1 + log(1 + relu(...))).
///
/// Vectors are batch invariant and bitwise reproducible.
/// **Source**: Formal et al., "SPLADE v2", 2021, section 3; sentence_transformers.SparseEncoder
/// 5.1.
struct SparseEncoder {
  TextReader reader;
  MaskedLM model;
  SentenceSettings settings;
  bool sum_pooling = false;
  bool double_log = false;
  index_t max_active_dims = 0;  // the most weights of a vector; 0: no limit

  /// The weights of all tokens of the vocabulary, with gradients if a tape is active. **Shapes**:
  /// Tokens of (B, T) -> (B, V). **Errors**: as MaskedLM.
  Tensor operator()(const Tokens& tokens) const;

  /// The sparse vectors of texts. A prompt is prepended as in SentenceEncoder::encode_query and
  /// encode_document. **Errors**: as SentenceEncoder::encode.
  std::vector<SparseVector> encode_query(const std::vector<std::string>& texts,
                                         const TaskOptions& options = {}) const;
  std::vector<SparseVector> encode_document(const std::vector<std::string>& texts,
                                            const TaskOptions& options = {}) const;
};

/// Reads a folder of sentence-transformers, whose modules are an MLMTransformer and a
/// SpladePooling, or, without modules.json, of a masked language model.
/// **Errors**: std::runtime_error that names the file, the key or tensor, the rule and the value.
SparseEncoder load_sparse_encoder(const std::filesystem::path& folder);

}  // namespace tessera::models
