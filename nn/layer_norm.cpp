#include "nn/layer_norm.h"

#include "nn/check.h"
#include "tensor/create.h"
#include "tensor/ops/layer_norm.h"

namespace tessera::nn {

LayerNorm::LayerNorm(const LayerNormOptions& options) : eps(options.eps) {
  detail::require_normalized_shape("LayerNorm", options.normalized_shape);
  detail::require_not_negative("LayerNorm", "eps", eps);
  weight = ones(options.normalized_shape);
  if (options.bias) bias = zeros(options.normalized_shape);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, weight, bias, eps);
}

}  // namespace tessera::nn
