#include "nn/layer_norm.h"

#include "tensor/create.h"
#include "tensor/ops/layer_norm.h"

namespace tessera::nn {

LayerNorm::LayerNorm(const LayerNormOptions& options)
    : weight(ones(options.normalized_shape)), eps(options.eps) {
  if (options.bias) bias = zeros(options.normalized_shape);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, weight, bias, eps);
}

}  // namespace tessera::nn
