// The products of linear layers. The bias and the ops that follow are applied to each tile of the
// output while the tile is still in the cache.
//
//   linear(x, weight, bias, Activation::kGelu, h)            // gelu(x W^T + bias) + h
//   rotary_linear(x, weight, bias, {by, 2 * heads, width})   // rotates q and k; by: a Rotation
//   gated_linear(x, weight, bias, Activation::kSilu)         // SwiGLU
#pragma once

#include "tessera/tensor/ops/positions.h"
#include "tessera/tensor/ops/weight.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

/// The affine map of a linear layer: `activation(x W^T + b) + residual`, where W is `weight` and b
/// is `bias`. The result is bitwise equal to that of the separate ops.
///
/// **Shapes**: x (..., K), weight (N, K), bias (N) or undefined, residual (..., N) -> (..., N).
/// A Weight (weight.h) is packed into the layout of products once, and again after its elements
/// have changed; a Tensor, which converts to a Weight, is packed in each call.
/// **Errors**: an undefined x or weight; x that is not floating; sizes or dtypes that do not match;
/// an unknown activation; x or the weight requires a gradient while a tape records, and the weight
/// is prepacked or rounded; a weight prepacked for a different instruction set than the one in use;
/// inf or NaN in a weight that kInt8 rounds.
/// **Source**: torch.nn.functional.linear.
Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias = {},
              Activation activation = Activation::kNone, const Tensor& residual = {});

/// `x W^T + b`, then rotary() of the columns of the result that `columns` selects. The result is
/// bitwise equal to that of the separate ops.
///
/// **Shapes**: x (..., T, K), weight (N, K), bias (N) or undefined -> (..., T, N).
/// **Errors**: those of linear() and rotary(); `columns` with heads or width below 1; more columns
/// to rotate than the weight has rows.
/// **Source**: as linear and rotary.
Tensor rotary_linear(const Tensor& x, const Weight& weight, const Tensor& bias,
                     const RotaryColumns& columns);

/// The first layer of a gated feed-forward network. W1 and b1 are the first halves of `weight` and
/// `bias`, W2 and b2 the second halves. With u = x W1^T + b1 and g = x W2^T + b2,
///
///     out = activation(u) g
///
/// element by element, in one matrix product; bitwise equal to linear(), the activation and mul()
/// one after the other. The layer is called GeGLU with GELU, SwiGLU with SiLU, ReGLU with
/// ReLU, and bilinear without an activation.
///
/// **Shapes**: x (..., K), weight (2F, K), bias (2F) or undefined -> (..., F). The activation is
/// applied to the first half, as in ModernBERT, NeoBERT and LLaMA's SwiGLU (w1, then w3). If a
/// model applies the activation to the second half (GTE; nomic's fc11 and fc12; torch's glu),
/// exchange the halves of weight and bias. `weight` is a Weight made by Weight::gated, or a Tensor,
/// which each call packs again.
/// **Errors**: those of linear(); a weight with an odd number of rows.
/// **Source**: Shazeer, "GLU Variants Improve Transformer", 2020, equation 5.
Tensor gated_linear(const Tensor& x, const Weight& weight, const Tensor& bias,
                    Activation activation);

}  // namespace tessera
