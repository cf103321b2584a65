// Comparison, logic and selection by masks.
#pragma once

#include "tessera/tensor/ops/operand.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

// Comparisons: bool tensors. Operands broadcast and promote, as in arithmetic.h. NaN is neither
// equal to, less than nor greater than any number or NaN. The operators compare elements too: a
// tensor does not convert to bool, so `if (a == b)` does not compile; see array_equal.
// **Errors**: shapes that do not broadcast; an undefined tensor.
// **Source**: torch, by the same names.

/// a == b, element by element.
Tensor eq(const Operand& a, const Operand& b);
/// a != b, element by element.
Tensor ne(const Operand& a, const Operand& b);
/// a < b, element by element.
Tensor lt(const Operand& a, const Operand& b);
/// a <= b, element by element.
Tensor le(const Operand& a, const Operand& b);
/// a > b, element by element.
Tensor gt(const Operand& a, const Operand& b);
/// a >= b, element by element.
Tensor ge(const Operand& a, const Operand& b);

/// As eq.
inline Tensor operator==(const Operand& a, const Operand& b) {
  return eq(a, b);
}
/// As ne.
inline Tensor operator!=(const Operand& a, const Operand& b) {
  return ne(a, b);
}
/// As lt.
inline Tensor operator<(const Operand& a, const Operand& b) {
  return lt(a, b);
}
/// As le.
inline Tensor operator<=(const Operand& a, const Operand& b) {
  return le(a, b);
}
/// As gt.
inline Tensor operator>(const Operand& a, const Operand& b) {
  return gt(a, b);
}
/// As ge.
inline Tensor operator>=(const Operand& a, const Operand& b) {
  return ge(a, b);
}

// Logic on tensors of any dtype: elements that are not zero count as true, also NaN. The results
// are bool.
// **Errors**: shapes that do not broadcast; an undefined tensor.
// **Source**: numpy, torch, by the same names.

/// Whether x is false. **Shapes**: any -> the same.
Tensor logical_not(const Tensor& x);
/// Whether a and b are both true. **Shapes**: any two that broadcast.
Tensor logical_and(const Tensor& a, const Tensor& b);
/// Whether a or b is true, or both. **Shapes**: any two that broadcast.
Tensor logical_or(const Tensor& a, const Tensor& b);

/// any: whether at least one element along `axes` (by default all axes) is true. all: whether every
/// element is true.
///
/// **Shapes**: as sum in reduce.h. If there are no elements, any gives false and all gives true.
/// **Errors**: an axis out of range or named twice.
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

/// Whether an element is NaN. **Shapes**: any -> the same.
Tensor isnan(const Tensor& x);
/// Whether an element is infinite, of either sign. **Shapes**: any -> the same.
Tensor isinf(const Tensor& x);
/// Whether an element is neither NaN nor infinite. **Shapes**: any -> the same.
Tensor isfinite(const Tensor& x);

/// |a - b| <= atol + rtol |b|, computed in double precision; integers are subtracted exactly. An
/// infinity is close only to itself; NaN is close to no number, and to NaN only with `equal_nan`.
///
/// **Shapes**: any two that broadcast. **Errors**: shapes that do not broadcast.
/// **Source**: numpy.isclose.
Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
/// Whether isclose is true for all elements. **Errors**: as isclose.
/// **Source**: numpy.allclose.
bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
/// Whether a and b have the same shape and every element of a equals the element of b.
/// **Errors**: an undefined tensor.
/// **Source**: numpy.array_equal.
bool array_equal(const Tensor& a, const Tensor& b);

/// `a` where `condition` is true, else `b`; elements that are not selected have no effect, even
/// NaN.
///
/// **Shapes**: any three that broadcast.
/// **Errors**: a condition that is not bool; shapes that do not broadcast.
/// **Source**: numpy.where.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);

/// `value` where `mask` is true, else x, in the dtype of x.
///
/// **Shapes**: any two that broadcast.
/// **Errors**: a mask that is not bool; shapes that do not broadcast; a value that an integer or
/// bool x cannot hold.
/// **Source**: torch.Tensor.masked_fill.
Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);

}  // namespace tessera
