// Matrix products.
#pragma once

#include "tensor/tensor.h"

namespace tessera {

/// The matrix product by NumPy's rules: `out[..., i, j] = sum_k a[..., i, k] b[..., k, j]`.
///
/// **Shapes**: (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast. A vector stands for a
/// row on the left and for a column on the right, and its axis disappears from the result.
/// Any strides are read in place. Integers give exact integers, mixed dtypes promote.
/// Each element is one chain of fused multiply-adds in the order of k, so it depends on its row of a
/// and its column of b alone.
/// **Errors**: a scalar, inner sizes that differ, leading axes that do not broadcast.
/// **Source**: numpy.matmul.
Tensor matmul(const Tensor& a, const Tensor& b);

/// The affine map of a linear layer: `x W^T + b`, bit for bit `matmul(x, weight.t()) + bias`, with the
/// bias added as each tile of the product is stored.
///
/// **Shapes**: x (..., K), weight (N, K), bias (N) or undefined -> (..., N).
/// **Errors**: sizes that do not fit. **Source**: torch.nn.functional.linear.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tessera
