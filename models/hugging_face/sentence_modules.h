// The modules that make a sentence's embedding from the vectors of its tokens: a pooling, then
// functions of the pooled vector. Also the similarity of embeddings.
#pragma once

#include <variant>
#include <vector>

#include "models/pooling.h"
#include "models/tokens.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace tessera::models {

/// One vector per sentence: the concatenated results of the poolings in `modes`.
///
/// **Shapes**: x (B, T, D) -> (B, M D) for M modes. Without `include_prompt`, the first `prompt`
/// tokens of each row are ignored, and a row without other tokens gives zeros. kWeightedMean still
/// counts positions from the beginning of the row.
/// **Errors**: as Pooling; no modes; a negative `prompt` without `include_prompt`.
/// **Source**: sentence_transformers.models.Pooling.
struct SentencePooling {
  std::vector<Pooling> modes = {Pooling::kMean};
  bool include_prompt = true;

  Tensor operator()(const Tensor& x, const Tokens& tokens, index_t prompt = 0) const;
};

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

/// The pooled vectors x (B, D) after all modules, in their order. **Errors**: as the modules.
Tensor apply_modules(const std::vector<SentenceModule>& modules, Tensor x);

/// The similarity of two embeddings: larger is more similar.
enum class Similarity { kCosine, kDot, kEuclidean, kManhattan };

/// The cosine of the angle, the dot product, or minus the distance |a - b|_2 or |a - b|_1. A zero
/// vector has the cosine 0 to every vector.
/// **Shapes**: a (N, D), b (M, D) -> (N, M). **Errors**: other shapes.
/// **Source**: cos_sim, dot_score, euclidean_sim and manhattan_sim of sentence_transformers.util.
Tensor similarity(Similarity kind, const Tensor& a, const Tensor& b);

}  // namespace tessera::models
