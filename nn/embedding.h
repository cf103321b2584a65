// A table of vectors, one per token.
#pragma once

#include <optional>

#include "tessera/nn/parameter_source.h"
#include "tessera/tensor/ops/weight.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// The options of Embedding.
struct EmbeddingOptions {
  index_t num_embeddings;
  index_t embedding_dim;
  std::optional<index_t> padding_idx = {};  // negative counts from the end
  double std = 1;                           // of the initial weight
};

/// `y[...] = weight[ids[...]]`.
///
/// **Shapes**: ids (...), int64 -> (..., D); weight (V, D).
/// **Initial values**: the weight starts as N(0, std^2), and its row `padding_idx` as zeros. This
/// row gets no gradient.
/// **Errors**: sizes below 1; a std that is negative or not finite; a padding_idx outside [-V,
/// V); ids that are not int64; an id outside [0, V).
/// **Source**: torch.nn.Embedding.
struct Embedding {
  Weight weight = Weight::table();
  std::optional<index_t> padding_idx;

  explicit Embedding(const EmbeddingOptions& options, const ParameterSource& from = default_rng());
  Embedding(index_t num_embeddings, index_t embedding_dim,
            const ParameterSource& from = default_rng())
      : Embedding({.num_embeddings = num_embeddings, .embedding_dim = embedding_dim}, from) {}

  Tensor operator()(const Tensor& ids) const;

  static void visit(auto& self, auto&& visitor) { visitor("weight", self.weight); }
};

}  // namespace tessera::nn
