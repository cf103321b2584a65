// Einstein's summation convention for one and two tensors.
//
//   einsum("ij->ji", {a})                  // the transpose
//   einsum("ii", {a})                      // the trace
//   einsum("bhqd,bhkd->bhqk", {q, k})      // the scores of attention
//   einsum("...i,oi->...o", {x, weight})   // a linear layer
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace tessera {

/// The product of the operands, summed over every label that the output does not name.
///
/// `spec` gives each axis of each operand a letter, operands separated by commas, and after "->"
/// the axes of the output. Without "->" the output has the labels that occur once, in ASCII order.
/// A label that an operand repeats walks along its diagonal. "..." means the axes without a
/// letter, aligned at the right; without "->" they come first in the output, and where an explicit
/// output leaves them out they are summed. Spaces mean nothing.
///
/// **Shapes**: axes with one label have one size, or 1, which stretches.
/// Two operands become one batched matmul: labels in both and in the output are its batch, labels
/// in both alone its inner axis. The result is contiguous. Its dtype is that of the
/// product, where bools count as int64: a sum of truths is their number, whatever the spec.
/// **Errors**: another number of operands than the spec has, or more than two; characters other
/// than letters; labels that do not fit an operand's axes; sizes that differ; an output label that
/// is unknown or named twice.
/// **Source**: numpy.einsum, torch.einsum.
Tensor einsum(const std::string& spec, const std::vector<Tensor>& operands);

}  // namespace tessera
