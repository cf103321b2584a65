// The first half of a gated feed-forward network.
#pragma once

#include "tensor/ops/weight.h"
#include "tensor/tensor.h"

namespace tessera {

/// A linear layer whose second half gates the first: with u = x W1^T + b1 and g = x W2^T + b2, W1 and
/// b1 being the first half of the rows of `weight` and of `bias`,
///
///     out = activation(u) g
///
/// in one product, with the bits of linear, activation and mul one after the other. GELU makes it
/// GeGLU, SiLU SwiGLU, ReLU ReGLU, and no activation the bilinear layer.
///
/// **Shapes**: x (..., K), weight (2F, K), bias (2F) or undefined -> (..., F).
/// The activation is applied to the first half, as ModernBERT, NeoBERT and LLaMA's SwiGLU (w1, then
/// w3) have it. Where it belongs to the second half (GTE; nomic's fc11 and fc12; torch's glu),
/// exchange the halves of weight and bias.
/// `weight` is a Weight::gated, which is packed until it changes, or a Tensor, which is read in place
/// by each call, as are weights for linear().
/// **Errors**: an odd number of rows, sizes or dtypes that do not fit, an unknown activation.
/// **Source**: Shazeer, "GLU Variants Improve Transformer", 2020, eq. 5.
Tensor gated_linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
                    Activation activation);

}  // namespace tessera
