#include "nn/init.h"

#include <cmath>

#include "nn/detail/check.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"

namespace tessera::nn {

Start linear_uniform(index_t fan_in) {
  detail::require_count("linear_uniform", "fan_in", fan_in);
  if (fan_in == 0) return constant(0);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return [bound](const Shape& shape, Rng& rng) {
    return uniform(shape, -bound, bound, kFloat32, rng);
  };
}

Tensor xavier_uniform(const Shape& shape, Rng& rng) {
  require(shape.size() == 2, "xavier_uniform", "shape must be (fan_out, fan_in), got ", shape);
  if (element_count("xavier_uniform", shape) == 0) return zeros(shape);
  const double bound = std::sqrt(6 / static_cast<double>(shape[0] + shape[1]));
  return uniform(shape, -bound, bound, kFloat32, rng);
}

Start normal(double std) {
  detail::require_not_negative("normal", "std", std);
  return [std](const Shape& shape, Rng& rng) {
    const Tensor unit = randn(shape, kFloat32, rng);
    return std == 1 ? unit : unit * std;
  };
}

Start constant(double value) {
  return [value](const Shape& shape, Rng&) { return full(shape, value, kFloat32); };
}

}  // namespace tessera::nn
