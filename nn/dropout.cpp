#include "nn/dropout.h"

#include "nn/detail/check.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/random.h"

namespace tessera::nn {

Dropout::Dropout(double probability) : p(probability) {
  detail::require_probability("Dropout", "p", p);
}

DropoutMask Dropout::draw() const {
  return active() ? DropoutMask{p, default_rng().next_u64()} : DropoutMask{};
}

Tensor Dropout::operator()(const Tensor& x, const Tensor& residual) const {
  if (!active() && !residual.defined()) return x;
  tessera::detail::check_dropout_inputs(x, residual);
  if (!active()) return x + residual;
  return dropout(x, draw(), residual);
}

}  // namespace tessera::nn
