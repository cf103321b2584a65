// Arithmetic, element by element.
#pragma once

#include <type_traits>

#include "tessera/tensor/ops/operand.h"
#include "tessera/tensor/tensor.h"

namespace tessera {

// The operations on two operands, each a tensor or a number.
//
// **Shapes**: any two that broadcast (for neg: any). Dtypes: the two are promoted (dtype.h,
// operand.h). int64 results are modulo 2^64, from -2^63 to 2^63 - 1. For two bool tensors, add is
// "or" and mul is "and".
// **Errors**: shapes that do not broadcast; an undefined tensor.
// **Source**: numpy, torch, by the same names.

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
/// The result is 1 if the base is 1 or the exponent is 0, even if the other operand is NaN. The
/// result is NaN for a finite negative base and a finite exponent that is not whole. Bools count as
/// int64. The result is int64 if base and exponent are int64, otherwise floating. The gradient with
/// regard to the exponent is y log(base), where y is the result, but 0 if the base is 0 and the
/// exponent is not negative. tensor/kernels/power.h states the largest error.
///
/// If the base is a tensor and the result is floating, an exponent that is a number may give other
/// bits than the same exponent in a tensor. The number 1/2 gives sqrt(base), which is -0 for -0 and
/// NaN for -inf; a tensor of 1/2 gives 0 and inf. The numbers 2 and -1 give square(base) and
/// reciprocal(base). For other numbers the C library computes the power, whose last bit may be
/// different.
/// **Errors**: an integer base with a negative integer exponent.
Tensor pow(const Operand& base, const Operand& exponent);

/// x / divisor rounded down: floor_divide(-7, 2) is -4. Floating divisions by 0 give infinities and
/// NaN, as div. The smallest int64 divided by -1 gives itself. The gradient is 0.
/// **Errors**: two bools; integers divided by 0. **Source**: torch.floor_divide.
Tensor floor_divide(const Operand& x, const Operand& divisor);

/// x - divisor floor_divide(x, divisor), with the divisor's sign: remainder(-7, 2) is 1. Floating
/// divisions by 0 give NaN. The gradient with respect to the divisor is -floor_divide(x, divisor).
/// **Errors**: two bools; integers divided by 0. **Source**: torch.remainder.
Tensor remainder(const Operand& x, const Operand& divisor);

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

namespace detail {

/// Writes f(x, y) into the elements of x.
Tensor& update(const char* op, Tensor& x, const Operand& y,
               Tensor (*f)(const Operand& a, const Operand& b));

/// A tensor that may be written to, also a view as in x.select(0, 1) += 1.
template <class T>
concept WritableTensor = std::is_same_v<std::remove_reference_t<T>, Tensor>;

}  // namespace detail

/// In place: x += y writes x + y into the elements of x, so every handle and view of these elements
/// changes. The dtype of x remains: a float32 x takes a float64 y, an int64 x only integers.
///
/// **Shapes**: y broadcasts to x. **Errors**: as for x + y; a result of a different shape, or of a
/// dtype that x cannot hold; as Tensor::copy_from; an x or y that requires a gradient while a tape
/// records, because a tape does not record writes: write x = x + y. **Source**: torch.Tensor.add_.
template <detail::WritableTensor T>
Tensor& operator+=(T&& x, const Operand& y) {
  return detail::update("operator+=", x, y, add);
}
template <detail::WritableTensor T>
Tensor& operator-=(T&& x, const Operand& y) {
  return detail::update("operator-=", x, y, sub);
}
template <detail::WritableTensor T>
Tensor& operator*=(T&& x, const Operand& y) {
  return detail::update("operator*=", x, y, mul);
}
template <detail::WritableTensor T>
Tensor& operator/=(T&& x, const Operand& y) {
  return detail::update("operator/=", x, y, div);
}

}  // namespace tessera
