// Converts texts to one vector per token, and compares texts by these vectors, as ColBERT or bge-m3.
//
//   const auto model = models::load_multi_vector_encoder("GTE-ModernColBERT-v1");
//   const std::vector<Tensor> documents = model.encode_document(lines);    // (tokens, 128) each
//   const Tensor query = model.encode_query({"Who built Rome?"}).front();
//   const Tensor scores = model.similarity(query, documents);              // (lines)
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tessera/models/hugging_face/sentence_encoder.h"
#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/models/token_encoder.h"
#include "tessera/nn/prepack.h"

namespace tessera::models {

/// The settings in which PyLate, the ColBERT library and bge-m3 differ.
struct MultiVectorSettings {
  std::optional<index_t> query_prefix = {};  // a token inserted after the first one
  std::optional<index_t> document_prefix = {};
  index_t query_length = 32;  // the largest number of tokens, with the prefix
  index_t document_length = 180;
  std::optional<index_t> expansion = {};    // the token that fills queries up to query_length
  bool attend_to_expansion_tokens = false;  // false: a query's own tokens do not read these
  std::vector<index_t> skiplist = {};       // tokens whose vectors a document lacks, ascending
  bool skips_first = false;                 // the first token has no vector
  bool averages = false;                    // similarity is divided by the number of query vectors

  bool operator==(const MultiVectorSettings&) const = default;
};

/// An encoder of texts as one vector of norm 1 per token: `projections` map the vectors of
/// `token_encoder`.
///
/// Vectors are batch invariant and bitwise reproducible.
/// **Source**: Khattab and Zaharia, "ColBERT", 2020; PyLate 1.3; Chen et al., "M3-Embedding", 2024,
/// section 3.2, and BGEM3FlagModel of FlagEmbedding, for skips_first and averages.
struct MultiVectorEncoder {
  TextReader reader;
  TokenEncoder token_encoder;
  SentenceSettings settings;
  MultiVectorSettings multi;
  std::vector<Dense> projections = {};

  /// The vectors of all tokens, with gradients if a tape is active. **Shapes**: Tokens of (B, T) ->
  /// (B, T, W). **Errors**: as TokenEncoder and Dense.
  Tensor operator()(const Tokens& tokens) const;

  /// The vectors of each text, (n, W) in float32: those of all tokens of a query, expansion tokens
  /// included; those of the tokens of a document that are not in the skiplist. With `skips_first`
  /// both lack the vector of the first token. The prompt of `options`, or the folder's default, is
  /// prepended.
  /// **Errors**: as Tokenizer::encode; no such prompt; a max_length above that of queries or
  /// documents, or without room for the special tokens; a text without a token; a vector that is
  /// not finite: see SentenceEncoder::encode.
  std::vector<Tensor> encode_query(const std::vector<std::string>& texts,
                                   const TaskOptions& options = {}) const;
  std::vector<Tensor> encode_document(const std::vector<std::string>& texts,
                                      const TaskOptions& options = {}) const;

  /// max_sim(query, documents) or, with `averages`, max_sim / n for the n vectors of the query.
  /// **Shapes**, **Errors**: as max_sim.
  Tensor similarity(const Tensor& query, const std::vector<Tensor>& documents) const;

  /// The tokens that encode_query or encode_document reads, without expansion tokens. **Errors**:
  /// as encode_query.
  std::vector<text::Encoding> tokenize(const std::vector<std::string>& texts, bool is_query,
                                       const TaskOptions& options = {}) const;
};

/// The sum over a query's vectors of the largest dot product with a vector of the document; 0 for a
/// document without vectors.
/// **Shapes**: query (n, W), documents (m, W) each -> (documents). **Errors**: other shapes.
/// **Source**: Khattab and Zaharia, "ColBERT", 2020, section 3.3.
Tensor max_sim(const Tensor& query, const std::vector<Tensor>& documents);

/// Prepacks the weights of the encoder and of the projections, as prepack of a SentenceEncoder.
void prepack(MultiVectorEncoder& encoder, const nn::PrepackOptions& options = {});

/// Reads a folder of one of these forms: PyLate's, with a Transformer and Dense modules; the ColBERT
/// library's, whose config.json names HF_ColBERT; bge-m3's, with colbert_linear.safetensors.
/// **Errors**: std::runtime_error that names the file, the key or tensor, the rule and the value.
MultiVectorEncoder load_multi_vector_encoder(const std::filesystem::path& folder);

}  // namespace tessera::models
