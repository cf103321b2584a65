// Arithmetic, element by element.
#pragma once

#include "tensor/ops/operand.h"
#include "tensor/tensor.h"

namespace tessera {

// The operations on two operands, each a tensor or a number.
//
// **Shapes**: any two that broadcast (for neg: any). Dtypes: the two are promoted (dtype.h,
// operand.h). int64 wraps around at 2^64. For bool tensors the sum is "or" and the product "and";
// for the other functions see below.
// **Errors**: shapes that do not broadcast. **Source**: numpy, torch, by the same names.

/// a + b.
Tensor add(const Operand& a, const Operand& b);

/// a - b. **Errors**: two bools.
Tensor sub(const Operand& a, const Operand& b);

/// a b, element by element; for the product of matrices see matmul.h.
Tensor mul(const Operand& a, const Operand& b);

/// a / b, the true division: integers and bools give float32.
Tensor div(const Operand& a, const Operand& b);

/// The larger of a and b; NaN if either is NaN. Equal operands each get half of the gradient.
Tensor maximum(const Operand& a, const Operand& b);

/// The smaller of a and b; NaN if either is NaN. Equal operands each get half of the gradient.
Tensor minimum(const Operand& a, const Operand& b);

/// -x. **Shapes**: any -> the same. **Errors**: a bool tensor; see logical_not.
Tensor neg(const Tensor& x);

/// base to the power of the exponent, element by element.
///
/// 1 if the base is 1 or the exponent 0, even if the other is NaN; NaN for a negative base and an
/// exponent that is not whole. Integers to integral powers are int64, all other results are
/// floating; bools count as int64. The gradient with regard to the exponent, y log(base), is 0 if
/// the base is 0 and the exponent is not negative. tensor/kernels/power.h states the largest error.
/// A scalar exponent of 1/2 gives the square root, so -0 gives -0 and -inf gives NaN, where pow(x,
/// tensor) gives 0 and inf. Other scalar exponents use the C library's pow, and the last bit may
/// differ from pow(x, tensor).
/// **Errors**: an integer base with a negative integral exponent.
Tensor pow(const Operand& base, const Operand& exponent);

/// As add.
inline Tensor operator+(const Operand& a, const Operand& b) {
  return add(a, b);
}
/// As sub.
inline Tensor operator-(const Operand& a, const Operand& b) {
  return sub(a, b);
}
/// As mul.
inline Tensor operator*(const Operand& a, const Operand& b) {
  return mul(a, b);
}
/// As div.
inline Tensor operator/(const Operand& a, const Operand& b) {
  return div(a, b);
}
/// As neg. **Shapes**: any.
inline Tensor operator-(const Tensor& x) {
  return neg(x);
}

}  // namespace tessera
