// Layer normalisation.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

struct LayerNormOptions {
  Shape normalized_shape;
  double eps = 1e-5;
  bool bias = true;
};

/// `y = (x - mean) / sqrt(var + eps) * weight + bias` over the last axes, with the biased variance.
///
/// **Shapes**: (..., *normalized_shape) -> the same; weight and bias have normalized_shape.
/// The weight starts as ones, the bias as zeros.
/// **Errors**: no axis, a size below 1, an eps below 0; an input with other last axes.
/// **Source**: Ba, Kiros and Hinton, "Layer Normalization", 2016; torch.nn.LayerNorm.
struct LayerNorm {
  Tensor weight;
  Tensor bias;  // undefined without bias
  double eps;

  explicit LayerNorm(const LayerNormOptions& options);
  explicit LayerNorm(index_t width) : LayerNorm({.normalized_shape = {width}}) {}

  Tensor operator()(const Tensor& x) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }
};

}  // namespace tessera::nn
