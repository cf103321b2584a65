// Converts texts to sparse vectors, with a weight for each token of the vocabulary, as SPLADE or
// bge-m3.
//
//   const auto model = models::load_sparse_encoder("splade-cocondenser-ensembledistil");
//   const std::vector<models::SparseVector> documents = model.encode_document(lines);
//   const models::SparseVector query = model.encode_query({"Who built Rome?"}).front();
//   const float score = models::dot(query, documents[0]);
#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/models/masked_lm.h"
#include "tessera/models/token_encoder.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/prepack.h"

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

/// Weights by the scores of a masked language model:
///
///     weight(v) = max over the tokens of log(1 + relu(score(token, v)))
///
/// with `sum_pooling` the sum over the tokens, and with `double_log` log(1 + log(1 + relu(...))).
///
/// **Source**: Formal et al., "SPLADE v2", 2021, section 3; SparseEncoder of sentence-transformers.
struct Splade {
  MaskedLM model;
  bool sum_pooling = false;
  bool double_log = false;

  /// The weights of all tokens of the vocabulary. **Shapes**: Tokens of (B, T) -> (B, V).
  /// **Errors**: as MaskedLM.
  Tensor operator()(const Tokens& tokens) const;

  static void visit(auto& self, auto&& visitor) { MaskedLM::visit(self.model, visitor); }
};

/// Weights of a text's own tokens, by a layer from D to 1:
///
///     weight(v) = max over the tokens with id v of relu(linear(x))
///
/// for the vector x of a token, and 0 for other v and `skipped` ids. The layer is the paper's W_lex.
///
/// **Parameters**: TokenEncoder's, and linear.weight (1, D), .bias (1). **Errors**: as TokenEncoder.
/// **Source**: Chen et al., "M3-Embedding", 2024, section 3.2; BGEM3FlagModel of FlagEmbedding.
struct TokenWeights {
  TokenEncoder token_encoder;
  nn::Linear linear;
  std::vector<index_t> skipped = {};  // ascending

  /// relu(linear(x)) of each token. **Shapes**: Tokens of (B, T) -> (B, T).
  Tensor of_tokens(const Tokens& tokens) const;
  /// The weights of all tokens of the vocabulary. **Shapes**: Tokens of (B, T) -> (B, V).
  Tensor operator()(const Tokens& tokens) const;

  static void visit(auto& self, auto&& visitor) {
    TokenEncoder::visit(self.token_encoder, visitor);
    visitor("linear", self.linear);
  }
};

/// An encoder of texts as sparse vectors, which are batch invariant and bitwise reproducible.
struct SparseEncoder {
  TextReader reader;
  std::variant<Splade, TokenWeights> model;
  SentenceSettings settings;
  index_t max_active_dims = 0;  // the most weights of a vector; 0: no limit

  /// The sparse vectors of texts. A prompt is prepended as in SentenceEncoder::encode_query and
  /// encode_document. **Errors**: as SentenceEncoder::encode.
  std::vector<SparseVector> encode_query(const std::vector<std::string>& texts,
                                         const TaskOptions& options = {}) const;
  std::vector<SparseVector> encode_document(const std::vector<std::string>& texts,
                                            const TaskOptions& options = {}) const;
};

/// Prepacks the weights of the model: see prepack in text_reader.h. **Errors**: as nn::prepack.
void prepack(SparseEncoder& encoder, const nn::PrepackOptions& options = {});

/// Reads a folder of one of these forms: sentence-transformers', with an MLMTransformer and a
/// SpladePooling; a masked language model's, without modules.json; bge-m3's, with
/// sparse_linear.safetensors.
/// **Errors**: std::runtime_error that names the file, the key or tensor, the rule and the value.
SparseEncoder load_sparse_encoder(const std::filesystem::path& folder);

}  // namespace tessera::models
