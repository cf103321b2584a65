// GELU by the normal distribution Phi, and its slope.
//
// With a = |x| and Q(a) = (1 - Phi(a)) exp(a^2 / 2), which falls slowly from 1/2,
//
//     x Phi(x)      = max(x, 0) - a exp(-a^2 / 2) Q(a)
//     d/dx x Phi(x) = exp(-a^2 / 2) (Q(a) - a / sqrt(2 pi)) for x < 0, and 1 minus that for x > 0
//
// One formula for all x takes the same time for all, and far below 0 it keeps its digits, which
// (1 + erf(x / sqrt 2)) / 2 loses: within 10 units in the last place for x >= -3; below, the error
// follows the rounding of the exponent, and with it x^2.
#pragma once

#include "tensor/kernels/lockstep.h"
#include "tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

/// The vectors that a loop takes at a time where it can.
inline constexpr int kInLockstep = 4;

/// |x| as far as the tail is not 0; NaN of NaN.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> tail_argument(const Vectors<T, kCount>& x) {
  using V = Vec<T>;
  const V farthest = rounded(broadcast(-kGeluLowest<T>));
  return each([&](V v) { return min(farthest, abs(v)); }, x);
}

/// The argument t of Q's polynomial.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> quotient_argument(const Vectors<T, kCount>& a) {
  using C = MathConstants<T>;
  return each([](Vec<T> v) { return broadcast(T{1}) / (v * C::kNormalScale + T{1}); }, a);
}

/// Q(a).
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> normal_quotient(const Vectors<T, kCount>& t) {
  using V = Vec<T>;
  const auto polynomial = horner(t, MathConstants<T>::kNormalQuotient);
  return each([](V v, V p) { return rounded(v * p); }, t, polynomial);
}

/// exp(-a^2 / 4), a normal number where its square is not.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> normal_root(const Vectors<T, kCount>& a) {
  using V = Vec<T>;
  const auto exponential = [](V v) {
    V r;
    const V shifted = reduce_exp(rounded((v * v) * T{-0.25}), r);
    return scaled_normal_exp(shifted, r);
  };
  return each(exponential, a);
}

/// x root^2.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> times_square(const Vectors<T, kCount>& x,
                                                              const Vectors<T, kCount>& root) {
  using V = Vec<T>;
  return each([](V v, V r) { return rounded(v * r * r); }, x, root);
}

/// x Phi(x).
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> gelu_erf(const Vectors<T, kCount>& x) {
  using V = Vec<T>;
  const auto a = tail_argument(x);
  const auto t = quotient_argument(a);  // early: a division takes its time
  const auto root = normal_root(a);
  const auto tail = times_square(normal_quotient(t), root);
  return each([](V v, V b, V p) { return rounded(relu(v) - b * p); }, x, a, tail);
}

/// Its slope, Phi(x) + x phi(x) with the normal density phi.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> gelu_erf_slope(const Vectors<T, kCount>& x) {
  using V = Vec<T>;
  constexpr T kInvSqrtTwoPi = static_cast<T>(0.3989422804014327);
  const auto a = tail_argument(x);
  const auto t = quotient_argument(a);
  const auto root = normal_root(a);
  const auto rest = each([](V q, V b) { return q - b * kInvSqrtTwoPi; }, normal_quotient(t), a);
  return each([](V v, V p) { return v < T{0} ? p : T{1} - p; }, x, times_square(rest, root));
}

}  // namespace tessera::kernels::TESSERA_ISA
