#include "tessera/nn/loss.h"

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::nn {

namespace {

/// As torch.nn.functional.normalize.
constexpr double kShortest = 1e-12;

void check_vectors(const char* op, const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), op, "vectors must be defined, got an undefined tensor");
  require(is_floating(a.dtype()) && a.dtype() == b.dtype(), op,
          "vectors must have the same floating dtype, got ", a.dtype(), " and ", b.dtype());
}

Tensor of_length_one(const Tensor& x) {
  return x / maximum(norm(x, {-1}, true), kShortest);
}

}  // namespace

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options) {
  constexpr const char* kOp = "triplet_margin_loss";
  for (const Tensor* other : {&positive, &negative}) {
    check_vectors(kOp, anchor, *other);
    require(anchor.rank() >= 1 && anchor.shape() == other->shape(), kOp,
            "anchor, positive and negative must have the same shape (..., D), got ", anchor.shape(),
            " and ", other->shape());
  }
  detail::require_not_negative(kOp, "margin", options.margin);
  detail::require_not_negative(kOp, "eps", options.eps);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return norm(a - b + options.eps, {-1});
  };
  Tensor far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  const Tensor losses = relu(distance(anchor, positive) - far + options.margin);
  return tessera::detail::reduced(kOp, losses, options.reduction,
                                  static_cast<double>(losses.count()));
}

Tensor info_nce_loss(const Tensor& queries, const Tensor& keys, const InfoNceOptions& options) {
  constexpr const char* kOp = "info_nce_loss";
  check_vectors(kOp, queries, keys);
  require(queries.rank() == 2 && keys.rank() == 2 && queries.size(1) == keys.size(1) &&
              queries.size(0) <= keys.size(0),
          kOp, "queries must have shape (B, D) and keys (N, D) with N >= B, got ", queries.shape(),
          " and ", keys.shape());
  require(!options.symmetric || queries.size(0) == keys.size(0), kOp,
          "a symmetric loss must have as many keys as queries, got ", queries.size(0),
          " queries and ", keys.size(0), " keys");
  detail::require_positive(kOp, "temperature", options.temperature);
  detail::require_finite(kOp, "1 / temperature", 1 / options.temperature);
  require_enum(kOp, "reduction", options.reduction, Reduction::kNone);
  const Tensor q = options.normalize ? of_length_one(queries) : queries;
  const Tensor k = options.normalize ? of_length_one(keys) : keys;
  const Tensor scores = matmul(q, k.t()) / options.temperature;
  const Tensor own = arange(queries.size(0));
  const CrossEntropyOptions of_rows = {.reduction = options.reduction};
  const Tensor loss = cross_entropy(scores, own, of_rows);
  if (!options.symmetric) return loss;
  return (loss + cross_entropy(scores.t(), own, of_rows)) / 2;
}

}  // namespace tessera::nn
