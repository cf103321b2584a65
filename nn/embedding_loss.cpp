#include "nn/embedding_loss.h"

#include <cmath>

#include "nn/reduction.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"

namespace tessera::nn {

namespace {

/// As torch.nn.functional.normalize.
constexpr double kShortest = 1e-12;

void check_beside(const char* op, const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), op, "a tensor is undefined");
  require(is_floating(a.dtype()) && a.dtype() == b.dtype(), op,
          "vectors must share a floating dtype, not ", a.dtype(), " and ", b.dtype());
}

Tensor of_length_one(const Tensor& x) {
  return x / maximum(norm(x, {-1}, true), kShortest);
}

}  // namespace

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options) {
  constexpr const char* kOp = "triplet_margin_loss";
  for (const Tensor* other : {&positive, &negative}) {
    check_beside(kOp, anchor, *other);
    require(anchor.rank() >= 1 && anchor.shape() == other->shape(), kOp,
            "needs three tensors of one shape (..., D), not ", anchor.shape(), " and ",
            other->shape());
  }
  require(options.margin >= 0, kOp, "the margin must not be negative, is ", options.margin);
  require(options.eps >= 0, kOp, "eps must not be negative, is ", options.eps);
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return norm(a - b + options.eps, {-1});
  };
  Tensor far = distance(anchor, negative);
  if (options.swap) far = minimum(far, distance(positive, negative));
  const Tensor losses = relu(distance(anchor, positive) - far + options.margin);
  return detail::reduced(losses, options.reduction, static_cast<double>(losses.count()));
}

Tensor contrastive(const Tensor& queries, const Tensor& keys, const ContrastiveOptions& options) {
  constexpr const char* kOp = "contrastive";
  check_beside(kOp, queries, keys);
  require(queries.rank() == 2 && keys.rank() == 2 && queries.size(1) == keys.size(1) &&
              queries.size(0) <= keys.size(0),
          kOp, "needs queries (B, D) and keys (N, D) with N >= B, not ", queries.shape(), " and ",
          keys.shape());
  require(!options.symmetric || queries.size(0) == keys.size(0), kOp, "symmetric, but ",
          queries.size(0), " queries for ", keys.size(0), " keys");
  require(options.temperature > 0 && std::isfinite(options.temperature), kOp,
          "the temperature must be positive and finite, is ", options.temperature);
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
