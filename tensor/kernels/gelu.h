// GELU by the normal distribution Phi, its approximation by tanh, and their slopes.
//
// Let a = |x| and Q(a) = (1 - Phi(a)) exp(a^2 / 2). Q is Mills' ratio over sqrt(2 pi), and falls
// slowly from 1/2. Then
//
//     x Phi(x)      = max(x, 0) - a exp(-a^2 / 2) Q(a)
//     d/dx x Phi(x) = exp(-a^2 / 2) (Q(a) - a / sqrt(2 pi)) for x < 0, and 1 minus that for x > 0
//
// One formula for all x takes the same time for all x, and keeps its digits far below 0, where (1 +
// erf(x / sqrt 2)) / 2 loses them. For x >= -3, x Phi(x) differs from its exact value by at most 10
// units in the last place, and the form with tanh from its own exact value by at most 24. Below -3,
// the errors come from rounding the argument of exp, and grow as x^2.
#pragma once

#include "tessera/tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

/// A negative number. Below it, both GELUs and their slopes are 0. Above -kGeluLowest, both GELUs
/// are x and their slopes 1.
template <class T>
inline constexpr T kGeluLowest = MathConstants<T>::kGeluLowest;

/// |x|, limited to the range in which the tail is not 0; NaN for NaN.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> tail_argument(const Vectors<T, kCount>& x) {
  using V = Vec<T>;
  const V farthest = rounded(broadcast(-kGeluLowest<T>));
  return each([&](V v) { return min(farthest, abs(v)); }, x);
}

/// t = 1 / (1 + kNormalScale a); Q(a) / t is a polynomial in t.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> quotient_argument(const Vectors<T, kCount>& a) {
  using C = MathConstants<T>;
  return each([](Vec<T> v) { return broadcast(T{1}) / (v * C::kNormalScale + T{1}); }, a);
}

/// Q(a), from t = quotient_argument(a).
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> normal_quotient(const Vectors<T, kCount>& t) {
  using V = Vec<T>;
  const auto polynomial = horner(t, MathConstants<T>::kNormalQuotient);
  return each([](V v, V p) { return rounded(v * p); }, t, polynomial);
}

/// exp(-a^2 / 4), not a subnormal number, even if its square is one.
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
  const auto t = quotient_argument(a);  // early: a division has a long latency
  const auto root = normal_root(a);
  const auto tail = times_square(normal_quotient(t), root);
  // max(0, NaN) is NaN, and max(0, -0) is -0.
  return each([](V v, V b, V p) { return rounded(max(V{}, v) - b * p); }, x, a, tail);
}

/// The slope of gelu_erf: Phi(x) + x phi(x) with the normal density phi.
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

// By tanh: x (1 + tanh(v / 2)) / 2 = x sigmoid(v) with v = x (kGeluLinear + kGeluCubic x^2), which
// is 2 sqrt(2 / pi) (x + 0.044715 x^3).
template <class T>
inline constexpr T kGeluLinear = static_cast<T>(1.5957691216057308);
template <class T>
inline constexpr T kGeluCubic = static_cast<T>(0.044715 * 1.5957691216057308);

/// x sigmoid(v).
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V gelu_tanh(V x) {
  x = x < kGeluLowest<T> ? broadcast(kGeluLowest<T>) : x;
  const V cubic = (x * x) * kGeluCubic<T> + kGeluLinear<T>;
  return rounded(x * sigmoid(x * cubic));
}

/// The slope of gelu_tanh: sigmoid(v) + x sigmoid(v) sigmoid(-v) dv/dx.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V gelu_tanh_slope(V input) {
  const V above = input < kGeluLowest<T> ? broadcast(kGeluLowest<T>) : input;
  const V x = input > -kGeluLowest<T> ? broadcast(-kGeluLowest<T>) : above;
  const V square = rounded(x * x);
  const V v = rounded(x * (square * kGeluCubic<T> + kGeluLinear<T>));
  const V slope = square * (3 * kGeluCubic<T>)+kGeluLinear<T>;
  const V e = exp_of_negative(-abs(v));
  const V one_more = e + T{1};
  const V sigmoid = (v < T{0} ? e : broadcast(T{1})) / one_more;
  // sigmoid(v) sigmoid(-v), without losing digits.
  const V product = e / rounded(one_more * one_more);
  return rounded(rounded(x * slope) * product + sigmoid);
}

}  // namespace tessera::kernels::TESSERA_ISA
