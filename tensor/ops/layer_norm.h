// Layer normalisation.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// (x - mean) / sqrt(variance + eps) * weight + bias, mean and variance over the last axes.
///
/// **Shapes**: x (..., normalized_shape) -> the same; weight, bias: normalized_shape, or undefined
/// for 1 and 0.
/// The variance is the biased one (divided by n) and computed in two passes: a mean of 1e6 with a
/// deviation of 1 loses no digits. A constant row gives exactly bias.
/// **Errors**: x is not floating; weight or bias of another dtype; shapes that do not fit.
/// **Source**: Ba, Kiros and Hinton, "Layer Normalization", 2016, eq. 4;
/// torch.nn.functional.layer_norm.
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps = 1e-5);

/// The same over as many axes as weight has, or else bias, or else over the last.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

}  // namespace tessera
