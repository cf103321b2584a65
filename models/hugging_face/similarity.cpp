#include "models/hugging_face/similarity.h"

#include <vector>

#include "models/hugging_face/sentence_modules.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/rearrange.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"

namespace tessera::models {

namespace {

/// A row's distances from all rows of b, (M).
Tensor distances(Similarity kind, const Tensor& row, const Tensor& b) {
  const Tensor difference = b - row;
  return kind == Similarity::kEuclidean ? norm(difference, {1}) : sum(abs(difference), {1});
}

}  // namespace

Tensor similarity(Similarity kind, const Tensor& a, const Tensor& b) {
  require(a.rank() == 2 && b.rank() == 2 && a.size(1) == b.size(1), "similarity",
          "shapes must be (N, D) and (M, D), got ", a.shape(), " and ", b.shape());
  constexpr Normalize kUnit;
  if (kind == Similarity::kDot) return matmul(a, b.t());
  if (kind == Similarity::kCosine) return matmul(kUnit(a), kUnit(b).t());
  if (a.size(0) == 0) return matmul(a, b.t());
  std::vector<Tensor> rows;
  for (index_t i = 0; i < a.size(0); ++i) rows.push_back(-distances(kind, a.select(0, i), b));
  return stack(rows);
}

}  // namespace tessera::models
