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

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The matrix product by NumPy's rules: `out[..., i, j] = sum_k a[..., i, k] b[..., k, j]`.
///
/// **Shapes**: (..., M, K) x (..., K, N) -> (..., M, N); leading axes broadcast. A vector on the
/// left becomes a matrix with one row, a vector on the right a matrix with one column; this axis of
/// size 1 is removed from the result. Floating operands with any strides are read in place.
/// Different dtypes are promoted. Integers and bools give int64, modulo 2^64.
/// **Numerics**: each floating element is one chain of multiply-adds in the order of k. So, on one
/// instruction set, the bits of an element depend only on its row of a and its column of b. The
/// multiply-adds are fused, except on an instruction set without fused multiply-adds.
/// **Errors**: an undefined tensor, a scalar, inner sizes that differ, leading axes that do not
/// broadcast.
/// **Source**: numpy.matmul.
Tensor matmul(const Tensor& a, const Tensor& b);

/// The outer product: out[i, j] = a[i] b[j].
///
/// **Shapes**: (M) and (N) -> (M, N). **Errors**: an operand that is not a vector.
/// **Source**: torch.outer.
Tensor outer(const Tensor& a, const Tensor& b);

/// The product of the operands by labels of their axes, summed over every label that is not in the
/// output.
///
/// `spec` gives each axis of each operand a letter, its label. Commas separate the operands, and
/// the labels of the output follow "->". Without "->" the output has the labels that occur once, in
/// ASCII order. If an operand has a label twice, its diagonal is taken. "..." means the axes
/// without a letter, aligned at the right. Without "->" these axes come first in the output; if an
/// output after "->" omits "...", these axes are summed. Spaces are ignored.
///
/// **Shapes**: axes with the same label have the same size, or size 1, which broadcasts. Two
/// operands become one batched matmul: a label that both operands have is a batch axis if the
/// output has it, else an inner axis. The result is contiguous. Its dtype is the promoted dtype of
/// the operands, where bools count as int64: a sum of bools is the number of true elements.
/// **Errors**: a number of operands that differs from the spec's, or is more than two; a label that
/// is not a letter; labels that do not match an operand's axes; sizes that differ; an output label
/// that is unknown or repeated; more than kMaxRank axes in the output; an undefined operand.
/// **Source**: numpy.einsum, torch.einsum.
Tensor einsum(const std::string& spec, const std::vector<Tensor>& operands);

}  // namespace tessera
