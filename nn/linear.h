// The affine layer, and activation functions by name; the layer applies them in the same pass.
#pragma once

#include "tessera/nn/parameter_source.h"
#include "tessera/nn/visit.h"
#include "tessera/tensor/ops/linear.h"

namespace tessera::nn {

using tessera::Activation;

/// The activation of each element. **Shapes**: any -> the same. **Errors**: an unknown activation.
/// **Source**: as relu, gelu, gelu_tanh and silu in tensor/ops/unary.h.
Tensor activate(Activation activation, const Tensor& x);

/// The options of Linear.
struct LinearOptions {
  index_t in_features;
  index_t out_features;
  bool bias = true;
  bool gated = false;  // the weight is for gated_linear(), which the owner of this layer calls
};

/// `y = x W^T + b`.
///
/// **Shapes**: (..., in) -> (..., out); weight (out, in), bias (out). Weight and bias start as
/// U(-1/sqrt(in), 1/sqrt(in)). **Errors**: sizes below 1; as linear().
/// **Source**: torch.nn.Linear.
struct Linear {
  Weight weight;
  Tensor bias;  // undefined without bias

  explicit Linear(const LinearOptions& options, const ParameterSource& from = default_rng());
  Linear(index_t in_features, index_t out_features, const ParameterSource& from = default_rng())
      : Linear({.in_features = in_features, .out_features = out_features}, from) {}

  Tensor operator()(const Tensor& x) const { return (*this)(x, Activation::kNone); }
  /// `activation(x W^T + b) + residual`, in one pass.
  Tensor operator()(const Tensor& x, Activation activation, const Tensor& residual = {}) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }
};

}  // namespace tessera::nn
