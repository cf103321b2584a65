// Converts sentences to vectors, with a model from a folder of sentence-transformers.
//
//   const auto model = models::load_sentence_encoder("all-MiniLM-L6-v2");
//   const Tensor e = model.encode(lines);                              // (lines, 384)
//   const Tensor found = model.similarity(model.encode_query({"Who built Rome?"}), e);
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/models/pooling.h"
#include "tessera/models/token_encoder.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/norm.h"
#include "tessera/nn/prepack.h"

namespace tessera::models {

/// One vector per sentence: the concatenated results of `poolings`. The first `ignored` tokens of
/// each row do not count, and a row without other tokens gives zeros. kWeightedMean still counts
/// positions from the beginning of the row.
///
/// **Shapes**: x (B, T, D), the vectors of `tokens` -> (B, P D) for P poolings. **Errors**: as
/// Pooling; no poolings; a negative `ignored`. **Source**: sentence_transformers.models.Pooling.
Tensor pool_sentences(const Tensor& x, const Tokens& tokens, const std::vector<Pooling>& poolings,
                      index_t ignored = 0);

/// x / max(|x|, 1e-12) along the last axis. **Shapes**: (..., D) -> the same. **Errors**: a scalar.
/// **Source**: sentence_transformers.models.Normalize; torch.nn.functional.normalize.
struct Normalize {
  Tensor operator()(const Tensor& x) const;
};

/// activation(x W^T + b). **Shapes**: (..., in) -> (..., out). **Errors**: as nn::Linear.
/// **Source**: sentence_transformers.models.Dense.
struct Dense {
  nn::Linear linear;
  Tensor (*activation)(const Tensor& x);

  Tensor operator()(const Tensor& x) const { return activation(linear(x)); }
};

using SentenceModule = std::variant<Normalize, Dense, nn::LayerNorm>;

/// The similarity of two embeddings: larger is more similar.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };

/// The cosine of the angle, the dot product, or minus the distance |a - b|_2 or |a - b|_1. A zero
/// vector has the cosine 0 to every vector.
/// **Shapes**: a (N, D), b (M, D) -> (N, M). **Errors**: other shapes.
/// **Source**: cos_sim, dot_score, euclidean_sim and manhattan_sim of sentence_transformers.util.
Tensor similarity(Similarity kind, const Tensor& a, const Tensor& b);

/// The settings in the JSON files of a folder, except its modules.
struct SentenceSettings {
  bool lower_case = false;                          // of texts, before the tokenizer
  std::map<std::string, std::string> prompts = {};  // texts to prepend, by their names
  std::optional<std::string> default_prompt = {};   // the name of the prompt for calls without one
  Similarity similarity = Similarity::kCosine;
  index_t truncate_dim = 0;  // as in TaskOptions, for calls without one
};

/// A text prepared for the tokenizer of sentences: without white space at the ends, as by Python's
/// str.strip(), and in lower case if `lower_case`. A text that is not UTF-8 is returned unchanged.
/// **Source**: sentence_transformers.models.Transformer.
std::string cleaned(std::string_view text, bool lower_case);

/// An encoder of sentences: `reader` turns texts into tokens, `token_encoder` gives each a vector,
/// `poolings` make one vector per text, and `modules` change this vector, one after the other.
///
/// Embeddings are batch invariant and bitwise reproducible: a sentence's embedding does not depend
/// on the batch or on the number of threads.
/// **Source**: Reimers and Gurevych, "Sentence-BERT", 2019; sentence-transformers 5.1.
struct SentenceEncoder {
  TextReader reader;
  std::variant<TokenEncoder, nn::Embedding> token_encoder;  // an nn::Embedding: "static" embeddings
  SentenceSettings settings;
  index_t width;  // of an embedding
  std::vector<Pooling> poolings = {Pooling::kMean};
  bool pools_prompt = true;  // false: the pooling ignores the tokens of a prompt
  std::vector<SentenceModule> modules = {};

  /// The embeddings of sentences that are given as tokens, with gradients if a tape is active. The
  /// first `prompt` tokens of each row are a prompt.
  ///
  /// **Shapes**: tokens of (B, T) -> (B, width). **Errors**: as `token_encoder`, pool_sentences and
  /// `modules`.
  Tensor operator()(const Tokens& tokens, index_t prompt = 0) const;

  /// The embeddings of texts. The prompt is prepended to each text, white space at the ends of the
  /// result is removed, and the result is truncated to the maximum length; static embeddings
  /// keep white space, which their tokenizer may use. If no prompt is
  /// given, the folder's default prompt is used, if there is one. The first call packs the weights,
  /// which are then in memory twice; after prepack(), once.
  ///
  /// **Shapes**: n texts -> (n, width) or (n, truncate_dim), in float32. The pooled vector of a
  /// text without a token is 0. **Errors**: as Tokenizer::encode; no such prompt; a truncate_dim,
  /// max_length or batch_size out of range. An embedding that is not finite: std::runtime_error
  /// that names the weight, if a weight is not finite; otherwise NotFinite, which names the text.
  Tensor encode(const std::vector<std::string>& texts, const TaskOptions& options = {}) const;

  /// encode with the folder's prompt for a question ("query"), if the folder has this prompt and
  /// `options` has no prompt. **Errors**: as encode.
  Tensor encode_query(const std::vector<std::string>& texts, const TaskOptions& options = {}) const;
  /// As encode_query, for texts to be searched: the prompt is the first of "document", "passage"
  /// and "corpus" that the folder has.
  Tensor encode_document(const std::vector<std::string>& texts,
                         const TaskOptions& options = {}) const;

  /// `options` with the prompt that encode_document uses.
  TaskOptions for_documents(const TaskOptions& options) const;
  /// The tokens that encode reads for a text, including those of the prompt. **Errors**: as encode.
  text::Encoding tokenize(const std::string& text, const TaskOptions& options = {}) const;

  /// The number of tokens that the pooling ignores because they belong to the prompt; 0 with
  /// `pools_prompt`. **Errors**: as encode.
  index_t prompt_tokens(const TaskOptions& options = {}) const;

  /// The folder's similarity of embeddings. **Shapes**: (N, D), (M, D) -> (N, M). **Errors**: as
  /// models::similarity.
  Tensor similarity(const Tensor& a, const Tensor& b) const {
    return models::similarity(settings.similarity, a, b);
  }
};

/// Prepacks the weights of the encoder and of the Dense modules, with nn::prepack. The encoder is
/// then only for inference: see prepack in text_reader.h. **Errors**: as nn::prepack.
void prepack(SentenceEncoder& encoder, const nn::PrepackOptions& options = {});

/// The form of the vectors that a folder's model makes of a text: one, one per token (for a
/// MultiVectorEncoder), or a sparse one (for a SparseEncoder).
enum class VectorForm { kSingle, kMulti, kSparse };

/// The form by modules.json and config.json. **Errors**: as load_sentence_encoder, of these files.
VectorForm vector_form(const std::filesystem::path& folder);

/// Reads a folder with modules.json, or a folder with only an encoder; in the second case, the
/// pooling is the mean. `pooling`, if given, replaces the folder's pooling.
/// **Errors**: std::runtime_error that names the file, the key or tensor, the rule and the value;
/// an unknown module; std::invalid_argument: a pooling for static embeddings.
SentenceEncoder load_sentence_encoder(const std::filesystem::path& folder,
                                      const std::optional<Pooling>& pooling = {});

}  // namespace tessera::models
