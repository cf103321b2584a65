// Layer normalisation, and RMS normalisation, which does not subtract the mean.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera {

/// (x - mean) / sqrt(variance + eps) * weight + bias, where mean and variance are over the last
/// axes, those of normalized_shape.
///
/// **Shapes**: x (..., normalized_shape) -> the same; weight, bias: normalized_shape. An undefined
/// weight is 1, an undefined bias is 0.
/// **Numerics**: the variance is the biased one: the sum of squared deviations is divided by the
/// number of elements. The variance is computed in two passes, so a mean of 1e6 with a deviation of
/// 1 loses no digits. If all elements of a row are equal and eps is above 0, the result is exactly
/// bias. Squares overflow: in float32, a row with deviations from about 1.8e19 gives bias or NaN.
/// **Errors**: x is undefined or not floating; weight or bias of a different dtype; shapes that do
/// not match; an empty normalized_shape; an eps below 0.
/// **Source**: Ba, Kiros and Hinton, "Layer Normalization", 2016, equation 4;
/// torch.nn.functional.layer_norm.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps = 1e-5);

/// The same, where normalized_shape is the shape of weight; of bias if weight is undefined; or the
/// last axis if both are undefined.
/// **Shapes**: x -> the same. **Errors**: as above; a scalar.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

/// x / sqrt(mean(x^2) + eps) * weight, where the mean is over the last axes, those of
/// normalized_shape.
///
/// **Shapes**: x (..., normalized_shape) -> the same; weight: normalized_shape. An undefined weight
/// is 1. In PyTorch, the default of eps is the machine epsilon of the dtype. Here the default does
/// not depend on the dtype, so a model that is converted to a different dtype computes the same
/// function. Squares overflow: in float32, a row with elements from about 1.8e19 gives 0 or NaN.
/// **Errors**: x is undefined or not floating; a weight of a different dtype; shapes that do not
/// match; an empty normalized_shape; an eps below 0.
/// **Source**: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4;
/// torch.nn.functional.rms_norm.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                double eps = 1e-6);

/// The same, where normalized_shape is the shape of weight, or the last axis if weight is
/// undefined. **Errors**: as above; a scalar.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);

}  // namespace tessera
