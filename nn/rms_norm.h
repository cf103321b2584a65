// RMS normalisation.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

struct RmsNormOptions {
  Shape normalized_shape;
  double eps = 1e-6;
};

/// `y = x / sqrt(mean(x^2) + eps) * weight` over the last axes.
///
/// **Shapes**: (..., *normalized_shape) -> the same; weight has normalized_shape and starts as ones.
/// torch.nn.RMSNorm's default for eps depends on the dtype: give its modules' eps here.
/// **Errors**: no axis, a size below 1, an eps below 0; an input with other last axes.
/// **Source**: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019; torch.nn.RMSNorm.
struct RmsNorm {
  Tensor weight;
  double eps;

  explicit RmsNorm(const RmsNormOptions& options);
  explicit RmsNorm(index_t width) : RmsNorm({.normalized_shape = {width}}) {}

  Tensor operator()(const Tensor& x) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }
};

}  // namespace tessera::nn
