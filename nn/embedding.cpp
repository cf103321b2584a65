#include "tessera/nn/embedding.h"

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/indexing.h"

namespace tessera::nn {

Embedding::Embedding(const EmbeddingOptions& options, const ParameterSource& from) {
  detail::require_size("Embedding", "num_embeddings", options.num_embeddings);
  detail::require_size("Embedding", "embedding_dim", options.embedding_dim);
  detail::require_not_negative("Embedding", "std", options.std);
  if (options.padding_idx) {
    const index_t rows = options.num_embeddings;
    const index_t index = *options.padding_idx;
    require(-rows <= index && index < rows, "Embedding", "padding_idx must be from ", -rows, " to ",
            rows - 1, ", got ", index);
    padding_idx = index < 0 ? index + rows : index;
  }
  const auto start = [&](const Shape& shape, Rng& rng) {
    Tensor table = init::normal(options.std)(shape, rng);
    if (padding_idx) table.select(0, *padding_idx).fill(0);
    return table;
  };
  weight = from("weight", {options.num_embeddings, options.embedding_dim}, start);
}

Tensor Embedding::operator()(const Tensor& ids) const {
  const Tensor y = embedding(ids, weight);
  if (!padding_idx || !any_needs_gradient({&*weight})) return y;
  return where(eq(ids, *padding_idx).unsqueeze(-1), y.detach(), y);
}

}  // namespace tessera::nn
