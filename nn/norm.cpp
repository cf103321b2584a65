#include "nn/norm.h"

#include "nn/check.h"
#include "tensor/create.h"
#include "tensor/ops/layer_norm.h"

namespace tessera::nn {

Norm::Norm(const NormOptions& options) : eps(options.eps), kind(options.kind) {
  detail::require_size("Norm", "width", options.width);
  detail::require_not_negative("Norm", "eps", eps);
  require_enum("Norm", "kind", kind, NormKind::kRmsNorm);
  weight = ones({options.width});
  if (options.bias && kind == NormKind::kLayerNorm) bias = zeros({options.width});
}

Tensor Norm::operator()(const Tensor& x) const {
  return kind == NormKind::kRmsNorm ? rms_norm(x, weight, eps) : layer_norm(x, weight, bias, eps);
}

}  // namespace tessera::nn
