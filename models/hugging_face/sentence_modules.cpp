#include "models/hugging_face/sentence_modules.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/rearrange.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"

namespace tessera::models {

Tensor SentencePooling::operator()(const Tensor& x, const Tokens& tokens, index_t prompt) const {
  const auto pooled = [&](const Tensor& vectors, const Tokens& of) {
    std::vector<Tensor> parts;
    for (const Pooling& mode : modes) parts.push_back(mode(vectors, of));
    return parts.size() == 1 ? parts.front() : concat(parts, 1);
  };
  const index_t rows = x.size(0);
  const index_t count = x.size(1);
  if (include_prompt || prompt == 0) return pooled(x, {.lengths = tokens.lengths});
  if (prompt >= count) return zeros({rows, std::ssize(modes) * x.size(2)}, x.dtype());
  const Tensor lengths =
      (tokens.lengths.defined() ? tokens.lengths
                                : full({rows}, static_cast<double>(count), kInt64)) -
      prompt;
  const Tensor y = pooled(x.slice(1, prompt), {.lengths = maximum(lengths, 1),
                                               .positions = arange(count).slice(0, prompt)});
  return where(gt(lengths, 0).unsqueeze(1), y, 0);
}

Tensor Normalize::operator()(const Tensor& x) const {
  return x / maximum(norm(x, {-1}, true), 1e-12);
}

Tensor apply_modules(const std::vector<SentenceModule>& modules, Tensor x) {
  for (const SentenceModule& module : modules) {
    x = std::visit([&](const auto& part) { return part(x); }, module);
  }
  return x;
}

namespace {

/// The distances between a row and all rows of b, (M).
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
