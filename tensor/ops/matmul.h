// Matrix products.
#pragma once

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

}  // namespace tessera
