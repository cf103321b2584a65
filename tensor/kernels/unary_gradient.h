// The gradients of the functions of one element: dx = dy f'(x), with f' computed from x or, if that
// is cheaper, from y = f(x).
#pragma once

#include "tensor/kernels/elementwise.h"

namespace tessera::kernels::TESSERA_ISA {

template <class T>
void unary_gradient(UnaryOp op, index_t n, const T* x_or_y, index_t stride, const T* dy,
                    index_t dy_stride, T* dx) noexcept {
  using V = Vec<T>;
  constexpr T kTwoOverSqrtPi = static_cast<T>(1.1283791670955126);
  RowBlocks<T> values(n, x_or_y, stride);
  RowBlocks<T> gradients(n, dy, dy_stride);
  const auto map = [&](const auto& f) { map_each(n, dx, f, values, gradients); };
  switch (op) {
    case UnaryOp::kNeg:
      return map([](V, V d) { return -d; });
    case UnaryOp::kAbs:
      return map([](V x, V d) { return d * sign(x); });
    case UnaryOp::kSign:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
      return map([](V, V) { return V{}; });
    case UnaryOp::kSquare:
      return map([](V x, V d) { return d * (x + x); });
    case UnaryOp::kSqrt:
      return map([](V y, V d) { return d / (y + y); });
    case UnaryOp::kRsqrt:
      return map([](V y, V d) { return d * (y * y * y * T{-0.5}); });
    case UnaryOp::kReciprocal:
      return map([](V y, V d) { return -(d * (y * y)); });
    case UnaryOp::kExp:
      return map([](V y, V d) { return d * y; });
    case UnaryOp::kExpm1:
      return map([](V y, V d) { return d * (y + T{1}); });
    case UnaryOp::kLog:
      return map([](V x, V d) { return d / x; });
    case UnaryOp::kLog1p:
      return map([](V x, V d) { return d / (x + T{1}); });
    case UnaryOp::kSin:
      return map([](V x, V d) { return d * cos(x); });
    case UnaryOp::kCos:
      return map([](V x, V d) { return d * -sin(x); });
    case UnaryOp::kTanh:
      return map([](V y, V d) { return d * (T{1} - y * y); });
    case UnaryOp::kSigmoid:
      return map([](V y, V d) { return d * (y * (T{1} - y)); });
    case UnaryOp::kErf:
      return map([](V x, V d) { return d * (exp_of_negative(rounded(x * -x)) * kTwoOverSqrtPi); });
    case UnaryOp::kRelu:  // propagates NaN
      return map([](V y, V d) { return y <= T{0} ? V{} : d; });
    case UnaryOp::kSilu:
      return map([](V x, V d) { return d * silu_slope(x); });
    case UnaryOp::kGelu:
      return map_vectors<kInLockstep>(
          n, dx,
          [](const auto& x, const auto& d) {
            return each([](V slope, V v) { return v * slope; }, gelu_erf_slope(x), d);
          },
          values, gradients);
    case UnaryOp::kGeluTanh:
      return map([](V x, V d) { return d * gelu_tanh_slope(x); });
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
