#include "nn/dropout.h"

#include "nn/check.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/random.h"

namespace tessera::nn {

Dropout::Dropout(double probability) : p(probability) {
  detail::require_probability("Dropout", "the probability", p);
}

Tensor Dropout::operator()(const Tensor& x) const {
  if (!active()) return x;
  const Tensor keep = bernoulli(x.shape(), 1 - p);
  // where, not a product with the mask: a NaN that is dropped is gone.
  const Tensor scaled = p < 1 ? x * (1 / (1 - p)) : x;
  return where(keep, scaled, zeros({}, x.dtype()));
}

}  // namespace tessera::nn
