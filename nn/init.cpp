#include "nn/init.h"

#include <cmath>

#include "nn/detail/check.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"

namespace tessera::nn {

Tensor linear_uniform(const Shape& shape, index_t fan_in, Rng& rng) {
  detail::require_count("linear_uniform", "fan_in", fan_in);
  if (fan_in == 0) return zeros(shape);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return uniform(shape, -bound, bound, kFloat32, rng);
}

Tensor xavier_uniform(const Shape& shape, Rng& rng) {
  require(shape.size() == 2, "xavier_uniform", "shape must be (fan_out, fan_in), got ", shape);
  if (element_count("xavier_uniform", shape) == 0) return zeros(shape);
  const double bound = std::sqrt(6 / static_cast<double>(shape[0] + shape[1]));
  return uniform(shape, -bound, bound, kFloat32, rng);
}

Tensor normal(const Shape& shape, double std, Rng& rng) {
  detail::require_not_negative("normal", "std", std);
  const Tensor unit = randn(shape, kFloat32, rng);
  return std == 1 || rng.is_blank() ? unit : unit * std;
}

}  // namespace tessera::nn
