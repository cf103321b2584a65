// Matrix products.
#pragma once

#include "tensor/ops/rotary.h"
#include "tensor/ops/weight.h"
#include "tensor/tensor.h"

namespace tessera {

/// The matrix product by NumPy's rules: `out[..., i, j] = sum_k a[..., i, k] b[..., k, j]`.
///
/// **Shapes**: (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast. A vector stands
/// for a row on the left and for a column on the right, and its axis disappears from the result.
/// Any strides are read in place. Integers give exact integers, mixed dtypes promote.
/// Each element is one chain of fused multiply-adds in the order of k, so it depends on its row of
/// a and its column of b alone.
/// **Errors**: a scalar, inner sizes that differ, leading axes that do not broadcast.
/// **Source**: numpy.matmul.
Tensor matmul(const Tensor& a, const Tensor& b);

/// The outer product: out[i, j] = a[i] b[j].
///
/// **Shapes**: (M) and (N) -> (M, N). **Errors**: anything but two vectors.
/// **Source**: torch.outer.
Tensor outer(const Tensor& a, const Tensor& b);

/// The operations after the product of a linear layer, while each tile of it is still in the cache.
struct LinearEpilogue {
  Activation activation = Activation::kNone;
  Tensor residual = {};       // (..., N), added last; undefined for none
  RotaryColumns rotary = {};  // heads of the output that turn; without activation and residual
};

/// The affine map of a linear layer: `activation(x W^T + b) + residual`, or `x W^T + b` with some of
/// its heads turned by rotary positions. It has the bits of the separate ops.
///
/// **Shapes**: x (..., K), weight (N, K), bias (N) or undefined, residual (..., N) -> (..., N). Where
/// heads turn, x is (..., T, K).
/// `weight` is a Weight, or rows of one, which is packed until it changes, or a Tensor, which is read
/// in place by each call.
/// **Errors**: sizes or dtypes that do not fit; an unknown activation; those of rotary().
/// **Source**: torch.nn.functional.linear.
Tensor linear(const Tensor& x, const WeightView& weight, const Tensor& bias = {},
              const LinearEpilogue& epilogue = {});

}  // namespace tessera
