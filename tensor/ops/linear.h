// The products of linear layers: a weight, a bias, and the ops that follow while each tile of the
// output is still in the cache.
//
//   linear(x, weight, bias, {.activation = Activation::kGelu, .residual = h})
//   rotary_linear(x, weight, bias, {by, 2 * heads, width})            // queries and keys rotated
//   gated_linear(x, weight, bias, Activation::kSilu)                  // SwiGLU
#pragma once

#include "tensor/ops/positions.h"
#include "tensor/ops/weight.h"
#include "tensor/tensor.h"

namespace tessera {

/// The operations after x W^T + bias.
struct LinearEpilogue {
  Activation activation = Activation::kNone;
  Tensor residual = {};  // (..., N), added last; undefined for none
};

/// The affine map of a linear layer: `activation(x W^T + b) + residual`. The result has the bits of
/// the separate ops.
///
/// **Shapes**: x (..., K), weight (N, K), bias (N) or undefined, residual (..., N) -> (..., N).
/// `weight` is a Weight, or rows of a Weight, which stays packed until its elements change; or a
/// Tensor, which each call packs again.
/// **Errors**: sizes or dtypes that do not match; an unknown activation.
/// **Source**: torch.nn.functional.linear.
Tensor linear(const Tensor& x, const WeightView& weight, const Tensor& bias = {},
              const LinearEpilogue& epilogue = {});

/// `x W^T + b`, then rotary() of the first heads of the result. The result has the bits of the
/// separate ops.
///
/// **Shapes**: x (..., T, K), weight (N, K), bias (N) or undefined -> (..., T, N).
/// **Errors**: those of linear() and rotary(); heads with more columns than the weight has rows.
/// **Source**: as linear and rotary.
Tensor rotary_linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
                     const RotaryColumns& columns);

/// A linear layer whose second half gates the first, the first half of a gated feed-forward
/// network: with u = x W1^T + b1 and g = x W2^T + b2, where W1 and b1 are the first halves of
/// `weight` and `bias`,
///
///     out = activation(u) g
///
/// in one product, with the bits of linear, activation and mul one after the other. With GELU this
/// is GeGLU, with SiLU SwiGLU, with ReLU ReGLU, and without an activation the bilinear layer.
///
/// **Shapes**: x (..., K), weight (2F, K), bias (2F) or undefined -> (..., F).
/// The activation is applied to the first half, as in ModernBERT, NeoBERT and LLaMA's SwiGLU (w1,
/// then w3). If it belongs to the second half (GTE; nomic's fc11 and fc12; torch's glu), exchange
/// the halves of weight and bias. `weight` is a Weight::gated, which stays packed until its
/// elements change; or a Tensor, which each call packs again, as in linear().
/// **Errors**: an odd number of rows, sizes or dtypes that do not match, an unknown activation.
/// **Source**: Shazeer, "GLU Variants Improve Transformer", 2020, equation 5.
Tensor gated_linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
                    Activation activation);

}  // namespace tessera
