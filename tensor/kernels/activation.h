// The activations of linear layers and their gradients, on vectors, with the bits of the
// elementwise kernels of the same functions.
#pragma once

#include "tensor/kernels/gelu.h"
#include "tensor/kernels/types.h"

namespace tessera::kernels::TESSERA_ISA {

/// The activation of each element.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> activate(Activation activation,
                                                          const Vectors<T, kCount>& x) {
  using V = Vec<T>;
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return each([](V v) { return relu(v); }, x);
    case Activation::kGelu:
      return gelu_erf(x);
    case Activation::kGeluTanh:
      return each([](V v) { return gelu_tanh(v); }, x);
    case Activation::kSilu:
      return each([](V v) { return silu(v); }, x);
  }
  return x;
}

/// dy times the activation's slope at x.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> activation_gradient(Activation activation,
                                                                     const Vectors<T, kCount>& x,
                                                                     const Vectors<T, kCount>& dy) {
  using V = Vec<T>;
  const auto times = [](V slope, V d) { return d * slope; };
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:  // propagates NaN
      return each([](V v, V d) { return v <= T{0} ? V{} : d; }, x, dy);
    case Activation::kGelu:
      return each(times, gelu_erf_slope(x), dy);
    case Activation::kGeluTanh:
      return each([](V v, V d) { return d * gelu_tanh_slope(v); }, x, dy);
    case Activation::kSilu:
      return each([](V v, V d) { return d * silu_slope(v); }, x, dy);
  }
  return dy;
}

}  // namespace tessera::kernels::TESSERA_ISA
