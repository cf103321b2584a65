// Matrix products, and Einstein's summation convention.
//
//   matmul(a, b)
//   einsum("ij->ji", {a})                  // the transpose
//   einsum("ii", {a})                      // the trace
//   einsum("bhqd,bhkd->bhqk", {q, k})      // the scores of attention
//   einsum("...i,oi->...o", {x, weight})   // a linear layer
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The matrix product by NumPy's rules: `out[..., i, j] = sum_k a[..., i, k] b[..., k, j]`.
///
/// **Shapes**: (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast. A vector is a row
/// on the left and a column on the right, and its axis disappears from the result. Operands with
/// any strides are read in place. Integers give exact integers, different dtypes are promoted.
/// **Numerics**: each element is one chain of fused multiply-adds in the order of k, so an element
/// depends only on its row of a and its column of b.
/// **Errors**: a scalar, inner sizes that differ, leading axes that do not broadcast.
/// **Source**: numpy.matmul.
Tensor matmul(const Tensor& a, const Tensor& b);

/// The outer product: out[i, j] = a[i] b[j].
///
/// **Shapes**: (M) and (N) -> (M, N). **Errors**: an operand that is not a vector.
/// **Source**: torch.outer.
Tensor outer(const Tensor& a, const Tensor& b);

/// The product of the operands, summed over every label that is not in the output.
///
/// `spec` gives each axis of each operand a letter, operands separated by commas, and after "->"
/// the axes of the output. Without "->" the output has the labels that occur once, in ASCII order.
/// A label that an operand has twice takes the operand's diagonal. "..." means the axes without a
/// letter, aligned at the right; without "->" these axes come first in the output, and if an
/// explicit output omits "...", these axes are summed. Spaces are ignored.
///
/// **Shapes**: axes with the same label have the same size, or 1, which broadcasts. Two operands
/// become one batched matmul: labels in both and in the output are its batch, labels in both and
/// not in the output its inner axis. The result is contiguous. The dtype of the result is that of
/// the product, where bools count as int64: a sum of bools is the number of true ones, for any
/// spec.
/// **Errors**: a number of operands that differs from the spec's, or more than two; characters
/// other than letters; labels that do not match an operand's axes; sizes that differ; an output
/// label that is unknown or repeated.
/// **Source**: numpy.einsum, torch.einsum.
Tensor einsum(const std::string& spec, const std::vector<Tensor>& operands);

}  // namespace tessera
