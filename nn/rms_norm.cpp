#include "nn/rms_norm.h"

#include "nn/check.h"
#include "tensor/create.h"
#include "tensor/ops/layer_norm.h"

namespace tessera::nn {

RmsNorm::RmsNorm(const RmsNormOptions& options) : eps(options.eps) {
  detail::require_normalized_shape("RmsNorm", options.normalized_shape);
  detail::require_not_negative("RmsNorm", "eps", eps);
  weight = ones(options.normalized_shape);
}

Tensor RmsNorm::operator()(const Tensor& x) const {
  return rms_norm(x, weight, eps);
}

}  // namespace tessera::nn
