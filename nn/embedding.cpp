#include "nn/embedding.h"

#include "tensor/ops/indexing.h"

namespace tessera::nn {

Embedding::Embedding(const EmbeddingOptions& options, Rng& rng)
    : weight(randn({options.num_embeddings, options.embedding_dim}, kFloat32, rng)) {
  if (options.padding_index) {
    padding_index =
        normalize_axis("Embedding padding_index", *options.padding_index, options.num_embeddings);
    weight.select(0, *padding_index).fill(0);
  }
}

Tensor Embedding::operator()(const Tensor& ids) const {
  return embedding(weight, ids);
}

}  // namespace tessera::nn
