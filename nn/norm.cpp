#include "tessera/nn/norm.h"

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/ops/layer_norm.h"

namespace tessera::nn {

namespace {

Shape checked_shape(const NormOptions& options) {
  detail::require_size("Norm", "width", options.width);
  require_enum("Norm", "kind", options.kind, NormKind::kRMSNorm);
  return {options.width};
}

}  // namespace

Norm::Norm(const char* name, const Shape& shape, NormKind its_kind, double its_eps, bool has_bias,
           const ParameterSource& from)
    : eps(its_eps), kind(its_kind) {
  detail::require_normalized_shape(name, shape);
  detail::require_not_negative(name, "eps", eps);
  weight = from("weight", shape, init::constant(1));
  if (has_bias) bias = from("bias", shape, init::constant(0));
}

Norm::Norm(const NormOptions& options, const ParameterSource& from)
    : Norm("Norm", checked_shape(options), options.kind, options.eps,
           options.bias && options.kind == NormKind::kLayerNorm, from) {}

LayerNorm::LayerNorm(const LayerNormOptions& options, const ParameterSource& from)
    : Norm("LayerNorm", options.normalized_shape, NormKind::kLayerNorm, options.eps, options.bias,
           from) {}

RMSNorm::RMSNorm(const RMSNormOptions& options, const ParameterSource& from)
    : Norm("RMSNorm", options.normalized_shape, NormKind::kRMSNorm, options.eps, false, from) {}

Tensor Norm::operator()(const Tensor& x) const {
  return kind == NormKind::kRMSNorm ? rms_norm(x, weight, eps) : layer_norm(x, weight, bias, eps);
}

}  // namespace tessera::nn
