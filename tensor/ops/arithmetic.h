// Arithmetic, element by element.
#pragma once

#include "tensor/ops/scalar.h"
#include "tensor/tensor.h"

namespace tessera {

// The operations on two operands: tensors, or a tensor and a number.
//
// Shapes: any two that broadcast. Dtypes: the two are promoted (dtype.h, scalar.h). int64 wraps
// around at 2^64. Of bool tensors the sum is "or", the product "and", and the rest says below.
// Errors: shapes that do not broadcast. Source: numpy, torch, by the same names.

/// a + b.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, Scalar b);
Tensor add(Scalar a, const Tensor& b);

/// a - b. **Errors**: two bools.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, Scalar b);
Tensor sub(Scalar a, const Tensor& b);

/// a b, element by element; for the product of matrices see matmul.h.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, Scalar b);
Tensor mul(Scalar a, const Tensor& b);

/// a / b, the true division: integers and bools give float32.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, Scalar b);
Tensor div(Scalar a, const Tensor& b);

/// The larger of a and b; NaN where either is NaN. Of equals, each gets half of the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, Scalar b);
Tensor maximum(Scalar a, const Tensor& b);

/// The smaller of a and b; NaN where either is NaN. Of equals, each gets half of the gradient.
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, Scalar b);
Tensor minimum(Scalar a, const Tensor& b);

/// -x. **Errors**: a bool tensor; see logical_not.
Tensor neg(const Tensor& x);

/// x to the power of a number.
///
/// int64 to an integral power is int64, to any other float32; bool counts as int64. Powers of 1/2
/// are square roots: of -0 they are -0 and of -inf NaN, where pow(x, tensor) has 0 and inf. Others
/// are the C library's, and may differ from pow(x, tensor) in the last bit.
/// **Errors**: an integer tensor to a negative integral power.
Tensor pow(const Tensor& x, Scalar exponent);

/// base to the power of the exponent, element by element.
///
/// 1 where the base is 1 or the exponent 0, NaN or not; NaN where a negative base has an exponent
/// that is not whole. Bools count as int64. The gradient with regard to the exponent, y log(base),
/// is 0 where the base is 0 and the exponent is not negative. How exact it is stands in
/// tensor/kernels/power.h.
/// **Errors**: an integer base with a negative integer exponent.
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor pow(Scalar base, const Tensor& exponent);

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
inline Tensor operator+(const Tensor& a, Scalar b) {
  return add(a, b);
}
inline Tensor operator+(Scalar a, const Tensor& b) {
  return add(a, b);
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return sub(a, b);
}
inline Tensor operator-(const Tensor& a, Scalar b) {
  return sub(a, b);
}
inline Tensor operator-(Scalar a, const Tensor& b) {
  return sub(a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return mul(a, b);
}
inline Tensor operator*(const Tensor& a, Scalar b) {
  return mul(a, b);
}
inline Tensor operator*(Scalar a, const Tensor& b) {
  return mul(a, b);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return div(a, b);
}
inline Tensor operator/(const Tensor& a, Scalar b) {
  return div(a, b);
}
inline Tensor operator/(Scalar a, const Tensor& b) {
  return div(a, b);
}
inline Tensor operator-(const Tensor& x) {
  return neg(x);
}

}  // namespace tessera
