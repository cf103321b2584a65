#include "nn/training/adversarial.h"

#include <numeric>
#include <vector>

#include "nn/detail/check.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"

namespace tessera::nn {

namespace {

constexpr const char* kAdversarialOp = "adversarial_loss";

/// Each example's part of `g`, scaled to the norm `size`.
Tensor with_norm(const Tensor& g, double size) {
  std::vector<index_t> axes(static_cast<std::size_t>(g.rank()) - 1);
  std::iota(axes.begin(), axes.end(), index_t{1});
  const Tensor norm = g.rank() == 1 ? abs(g) : sqrt(sum(square(g), axes, true));
  return where(eq(norm, 0), zeros_like(g), g * (size / norm));
}

}  // namespace

LossSum adversarial_loss(const Shape& shape, double size,
                         const std::function<LossSum(const Tensor& shift)>& loss, DType dtype) {
  detail::require_positive(kAdversarialOp, "size", size);
  require(!shape.empty(), kAdversarialOp, "shape must have an axis of examples, got ()");
  require(static_cast<bool>(loss), kAdversarialOp, "loss must be a function, got an empty one");
  const Tensor still = zeros(shape, dtype).set_requires_grad();
  LossSum result;
  {
    Tape tape;
    result = loss(still);
    if (result.count == 0) return result;
    tape.backward(result.loss * 0.5);
  }
  require(still.grad().defined(), kAdversarialOp,
          "the loss must depend on the shift, got no gradient of it");
  const Tensor moved = loss(with_norm(still.grad(), size)).loss;
  result.loss = (result.loss.detach() + moved) * 0.5;
  return result;
}

}  // namespace tessera::nn
