#include "nn/linear.h"

#include "nn/detail/check.h"
#include "nn/init.h"

namespace tessera::nn {

Linear::Linear(const LinearOptions& options, Rng& rng) {
  detail::require_size("Linear", "in_features", options.in_features);
  detail::require_size("Linear", "out_features", options.out_features);
  weight = linear_uniform({options.out_features, options.in_features}, options.in_features, rng);
  if (options.bias) bias = linear_uniform({options.out_features}, options.in_features, rng);
}

Tensor Linear::operator()(const Tensor& x, Activation activation, const Tensor& residual) const {
  return linear(x, weight, bias, {.activation = activation, .residual = residual});
}

}  // namespace tessera::nn
