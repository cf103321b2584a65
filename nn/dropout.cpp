#include "tessera/nn/dropout.h"

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/random.h"

namespace tessera::nn {

int& detail::DropoutRefused::count() {
  thread_local int count = 0;
  return count;
}

Dropout::Dropout(double probability) : p(probability) {
  detail::require_probability("Dropout", "p", p);
}

DropoutOptions Dropout::draw() const {
  if (!active()) return {};
  require(
      detail::DropoutRefused::count() == 0, "Dropout",
      "the module must be in eval mode within evaluate(), got training mode; name each Dropout in "
      "visit, and let the loss capture the evaluated model by reference, not a copy of it");
  return {p, default_rng().next_u64()};
}

Tensor Dropout::operator()(const Tensor& x, const Tensor& residual) const {
  if (!active() && !residual.defined()) return x;
  tessera::detail::check_dropout_inputs(x, residual);
  if (!active()) return x + residual;
  return dropout(x, draw(), residual);
}

}  // namespace tessera::nn
