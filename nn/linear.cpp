#include "tessera/nn/linear.h"

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/unary.h"

namespace tessera::nn {

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return relu(x);
    case Activation::kGelu:
      return gelu(x);
    case Activation::kGeluTanh:
      return gelu_tanh(x);
    case Activation::kSilu:
      return silu(x);
  }
  fail_enum("activate", "activation", activation);
}

Linear::Linear(const LinearOptions& options, const ParameterSource& from)
    : weight(options.gated ? Weight::gated() : Weight()) {
  detail::require_size("Linear", "in_features", options.in_features);
  detail::require_size("Linear", "out_features", options.out_features);
  const Init init = init::linear_uniform(options.in_features);
  weight = from("weight", {options.out_features, options.in_features}, init);
  if (options.bias) bias = from("bias", {options.out_features}, init);
}

Tensor Linear::operator()(const Tensor& x, Activation activation, const Tensor& residual) const {
  return linear(x, weight, bias, activation, residual);
}

}  // namespace tessera::nn
