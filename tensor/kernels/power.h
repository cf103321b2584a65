// x^y on vectors: exp(y log(x)), where any error of the logarithm is multiplied by y.
//
// Floats are computed in double precision, which has more digits than needed. Doubles need a
// logarithm in two parts, high + low. With s = (m - 1) / (m + 1) for x = 2^e m,
//
//     log(x) = e log(2) + 2 s + (2/3) s^3 + s^5 P(s^2)
//
// where all terms except the last have two parts (`Pair`). Largest errors over 2^24 points (x, y),
// in units in the last place: float 0.501, double 0.75.
//
// **Source**: the special cases are those of C, Annex F.10.4.4; exact products by T. Dekker, "A
// floating-point technique for extending the available precision", Numer. Math. 18, 1971.
#pragma once

#include "tessera/tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

/// The sum high + low, where low is too small to change high.
struct Pair {
  Vec<double> high, low;
};

/// The product a b from halves of 26 and 27 bits. It is exact if the last product is fused; if not,
/// only the last product is rounded. Each statement has one product, so all compilers fuse the same
/// products.
[[gnu::always_inline]] inline Pair exact_product(Vec<double> a, Vec<double> b) {
  using V = Vec<double>;
  constexpr Bits<double> kUpperHalf = ~((Bits<double>{1} << 27) - 1);
  const auto upper_half = [](V v) {
    return bit_cast<V>(bit_cast<BitsVec<double>>(v) & kUpperHalf);
  };
  const V a_high = upper_half(a);
  const V b_high = upper_half(b);
  const V a_low = a - a_high;
  const V b_low = b - b_high;
  const V product = rounded(a * b);
  V low = a_high * b_high - product;
  low += a_high * b_low;
  low += a_low * b_high;
  low += a_low * b_low;
  return {product, low};
}

/// log(x) for finite x > 0.
[[gnu::always_inline]] inline Pair log_pair(Vec<double> x) {
  using V = Vec<double>;
  using C = MathConstants<double>;
  constexpr double kTwoThirds = 0.6666666666666666;
  constexpr double kTwoThirdsLow = 3.700743415417188e-17;
  // ((log(m) - 2 s) / s^3 - 2/3) / s^2 in powers of s^2, for m in [sqrt(1/2), sqrt(2)]
  constexpr double kTail[] = {0.11989016369479698, 0.11674818155256342, 0.13336317434538766,
                              0.1538455687064401,  0.1818181887031922,  0.2222222221753643,
                              0.2857142857144511,  0.3999999999999998};
  V m;
  const V e = split_exponent(x, m);
  const V above = m - 1.0;
  const V below = m + 1.0;
  const V below_low = m - (below - 1.0);
  const V s = above / below;
  const Pair back = exact_product(s, below);
  const V s_low = (((above - back.high) - back.low) - s * below_low) / below;

  const Pair square = exact_product(s, s);
  const V square_low = (s + s) * s_low + square.low;
  const Pair cube = exact_product(square.high, s);
  const V cube_low = square.high * s_low + (square_low * s + cube.low);
  const Pair third = exact_product(cube.high, broadcast(kTwoThirds));
  const V third_low = cube_low * kTwoThirds + (cube.high * kTwoThirdsLow + third.low);
  const V tail = horner(square.high, kTail);
  const V fifth = rounded(cube.high * square.high);
  const V fifth_low = cube.high * square_low + rounded(cube_low * square.high);

  // Adds from the largest part to the smallest; `low` collects the rounding error of each sum.
  const V exponent = rounded(e * C::kLn2High);  // exact
  const V first = exponent + (s + s);
  const V second = first + third.high;
  V low = tail * fifth + (tail * fifth_low + third_low);
  low += (s + s) - (first - exponent);
  low += third.high - (second - first);
  low += s_low + s_low;
  low += e * C::kLn2Low;
  const V high = second + low;
  return {high, low - (high - second)};
}

/// exp(t.high + t.low) = 2^n (1 + r + (r^2 P(r) + the rounding error of r)).
[[gnu::always_inline]] inline Vec<double> exp_pair(const Pair& t) {
  using V = Vec<double>;
  using C = MathConstants<double>;
  const V shifted = t.high * C::kLog2E + C::kRoundToInteger;
  const V n = shifted - C::kRoundToInteger;
  const V exact = n * -C::kLn2High + t.high;
  const V rest = n * -C::kLn2Low + t.low;
  const V r = exact + rest;
  const V lost = rest - (r - exact);
  const V tail = rounded(r * r) * horner(r, C::kExp) + lost;
  const V sum = r + 1.0;
  const V power = sum + (tail + (r - (sum - 1.0)));
  const V half = (n * 0.5) + C::kRoundToInteger;
  const BitsVec<double> half_bits = bit_cast<BitsVec<double>>(half);
  const V first = power_of_two<double>(half_bits);
  const V second = power_of_two<double>(bit_cast<BitsVec<double>>(shifted) - half_bits);
  return rounded(power * first * second);
}

/// a^y for a >= 0, except a^0 and 1^y, which are 1 for every a and y, also NaN.
[[gnu::always_inline]] inline Vec<double> power_of_size(Vec<double> a, Vec<double> y) {
  using V = Vec<double>;
  using C = MathConstants<double>;
  constexpr double kFar = 1e4;  // exp(kFar) overflows
  const Mask<double> is_regular = (a > 0.0) & (a < kInfinity<double>);
  const Pair finite = log_pair(a);
  const V limit = a == 0.0 ? broadcast(-kInfinity<double>) : a;
  const V log_high = is_regular ? finite.high : limit;
  const V log_low = is_regular ? finite.low : V{};
  const Pair product = exact_product(y, log_high);
  const V t = product.high;
  const V low = y * log_low + product.low;

  const Mask<double> is_zero = t < C::kExpLowest;
  const V power = exp_pair({is_zero ? V{} : t, abs(t) < kFar ? low : V{}});
  const V result = t > C::kExpHighest ? broadcast(kInfinity<double>) : power;
  return is_zero ? V{} : result;
}

[[gnu::always_inline]] inline Vec<float> power_of_size(Vec<float> a, Vec<float> y) {
  using V = Vec<double>;
  V a1, a2, y1, y2;
  widen(a, a1, a2);
  widen(y, y1, y2);
  return narrow(exp(rounded(y1 * log(a1))), exp(rounded(y2 * log(a2))));
}

/// x^y. Not inlined: the function is long, and the cost of a call is small in comparison.
template <class V, class T = Element<V>>
[[gnu::noinline]] inline V pow(V x, V y) {
  const V a = abs(x);
  const V size = power_of_size(a, y);
  const V half = y * T{0.5};
  const Mask<T> is_whole = round(y) == y;
  const Mask<T> is_odd = is_whole & (round(half) != half);
  const V result = is_odd ? with_sign(size, x) : size;
  const Mask<T> is_finite = a < kInfinity<T>;
  const Mask<T> is_undefined = (x < T{0}) & is_finite & ~is_whole;
  const Mask<T> is_one = (y == T{0}) | (x == T{1}) | ((a == T{1}) & (abs(y) == kInfinity<T>));
  const V defined = is_undefined ? broadcast(static_cast<T>(__builtin_nanf(""))) : result;
  return is_one ? broadcast(T{1}) : defined;
}

}  // namespace tessera::kernels::TESSERA_ISA
