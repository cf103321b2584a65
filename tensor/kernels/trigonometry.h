// Sine and cosine on vectors.
//
// x = n pi/2 + r with the integer n nearest to x / (pi/2). Sine and cosine of r, |r| <= pi/4, are
// polynomials; the last two bits of n select one of them and its sign.
//
// r must be accurate to the last digit, even if x is very near to a multiple of pi/2. For |x| up to
// kNear, pi/2 is subtracted in parts whose products with n are exact; floats are computed in double
// precision. For larger |x| this is not accurate enough: `reduce_far` multiplies x by the digits of
// 2/pi that affect the result, lane by lane in integers. This is slower and equally exact. The
// choice depends only on x.
//
// Largest errors in units in the last place, float over every seventh of all floats, double over
// 2^25 values of all sizes, with and without fused multiply-add:
//
//                sin    cos
//     float     1.56   1.56
//     double    1.52   1.52
//
// **Source**: M. Payne and R. Hanek, "Radian Reduction for Trigonometric Functions", SIGNUM
// Newsletter 18, 1983; W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980.
#pragma once

#include "tessera/tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

template <class T>
struct TrigonometryConstants;

template <>
struct TrigonometryConstants<float> {
  static constexpr float kNear = 0x1p17F;
  static constexpr float kSuspect = 0;  // none
  static constexpr float kTwoOverPi = 0.636619747F;
  // (sin(r) / r - 1) / r^2 and (cos(r) - 1) / r^2 in powers of r^2, for |r| <= 1.006 pi / 4
  static constexpr float kSin[] = {-0.000195113666F, 0.00833213236F, -0.166666538F};
  static constexpr float kCos[] = {2.43784816e-05F, -0.00138866273F, 0.0416666195F, -0.5F};
};

template <>
struct TrigonometryConstants<double> {
  static constexpr double kNear = 0x1p20;
  static constexpr double kSuspect = 0x1p-30;  // a smaller r has lost digits of pi/2
  static constexpr double kTwoOverPi = 0.6366197723675814;
  // pi/2: two parts of 33 bits, whose products with n < 2^20 are exact, and the remainder.
  static constexpr double kPiHalf[] = {1.5707963267341256, 6.077100506303966e-11,
                                       2.0222662487959506e-21};
  static constexpr double kPiHalfTail = 6.077100506506192e-11;  // all except the first part
  static constexpr double kSin[] = {1.5896227149403673e-10, -2.505074771372333e-08,
                                    2.7557313621092594e-06, -0.0001984126982958877,
                                    0.008333333333322118,   -0.1666666666666663};
  static constexpr double kCos[] = {-1.1353278824007639e-11,
                                    2.087558207828087e-09,
                                    -2.755731311690894e-07,
                                    2.4801587284093147e-05,
                                    -0.0013888888888861997,
                                    0.04166666666666647,
                                    -0.5};
};

/// 64 zeros, and the bits of 2/pi after the point.
inline constexpr std::uint64_t kTwoOverPiBits[] = {
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB};

/// x = n pi/2 + r for |x| >= 1. Returns n modulo 4.
///
/// With x = m 2^e and f the bits of 2/pi, m f 2^e is needed modulo 4. Bits of f that are worth
/// 2^(2 - e) or more give multiples of 4 and are skipped. The product of m and the next 192 bits
/// has at least 60 correct bits after the leading zeros that an x near a multiple of pi/2 gives.
inline std::uint64_t reduce_far(double x, double& r) {
  __extension__ typedef unsigned __int128 Wide;
  constexpr int kBits = 64;
  constexpr std::uint64_t kPiHalf = 0xC90FDAA22168C234;  // in units of 2^-63
  const auto bits = bit_cast<std::uint64_t>(x);
  const std::uint64_t exponent = bits >> 52 & 0x7FF;
  if (exponent == 0x7FF) {
    r = x - x;  // NaN
    return 0;
  }
  const std::uint64_t m = (bits & 0xFFFFFFFFFFFFF) | std::uint64_t{1} << 52;
  const std::uint64_t first = exponent - 1075 + kBits - 2;
  const auto window = [&](std::uint64_t i) {
    const std::uint64_t* word = kTwoOverPiBits + first / kBits + i;
    const std::uint64_t shift = first % kBits;
    return shift == 0 ? word[0] : word[0] << shift | word[1] >> (kBits - shift);
  };
  const Wide last = static_cast<Wide>(m) * window(2);
  const Wide middle = static_cast<Wide>(m) * window(1) + static_cast<std::uint64_t>(last >> kBits);
  const std::uint64_t top = m * window(0) + static_cast<std::uint64_t>(middle >> kBits);
  const auto second = static_cast<std::uint64_t>(middle);
  std::uint64_t n = top >> 62;
  // The fraction, 128 bits; if it is 1/2 or more, its distance to the next integer.
  std::uint64_t high = top << 2 | second >> 62;
  std::uint64_t low = second << 2 | static_cast<std::uint64_t>(last) >> 62;
  const bool above_half = high >> 63 != 0;
  if (above_half) {
    n += 1;
    high = ~high;
    low = ~low;
  }
  int zeros = 0;
  if (high == 0) {
    high = low;
    low = 0;
    zeros = kBits;
  }
  const int leading = __builtin_clzll(high);
  if (leading > 0) high = high << leading | low >> (kBits - leading);
  zeros += leading;
  const auto product = static_cast<std::int64_t>(static_cast<Wide>(high) * kPiHalf >> (kBits + 1));
  const auto scale = bit_cast<double>(static_cast<std::uint64_t>(1023 - 62 - zeros) << 52);
  const double size = static_cast<double>(product) * scale;
  r = above_half != (x < 0) ? -size : size;
  return x < 0 ? 0 - n : n;
}

/// Reduces the lanes of x in which `is_far` is true. Not inlined: it is rarely called.
template <class T>
[[gnu::noinline]] inline void reduce_far_lanes(const Mask<T>& is_far, const Vec<T>& x,
                                               BitsVec<T>& n, Vec<T>& r) {
  for (int i = 0; i < static_cast<int>(kLanes<T>); ++i) {
    if (is_far[i] == 0) continue;
    double rest;
    n[i] = static_cast<Bits<T>>(reduce_far(static_cast<double>(x[i]), rest));
    r[i] = static_cast<T>(rest);
  }
}

/// r for |x| <= kNear, and n as in reduce_exp.
[[gnu::always_inline]] inline Vec<float> reduce_near(Vec<float> x, Vec<float>& r) {
  using C = TrigonometryConstants<double>;
  constexpr float kRoundToInteger = MathConstants<float>::kRoundToInteger;
  const Vec<float> shifted = x * TrigonometryConstants<float>::kTwoOverPi + kRoundToInteger;
  Vec<double> x1, x2, n1, n2;
  widen(x, x1, x2);
  widen(shifted - kRoundToInteger, n1, n2);
  const auto rest = [](Vec<double> v, Vec<double> n) {
    return n * -C::kPiHalfTail + (n * -C::kPiHalf[0] + v);
  };
  r = narrow(rest(x1, n1), rest(x2, n2));
  return shifted;
}

[[gnu::always_inline]] inline Vec<double> reduce_near(Vec<double> x, Vec<double>& r) {
  using C = TrigonometryConstants<double>;
  constexpr double kRoundToInteger = MathConstants<double>::kRoundToInteger;
  const Vec<double> shifted = x * C::kTwoOverPi + kRoundToInteger;
  const Vec<double> n = shifted - kRoundToInteger;
  // Both products are exact, and so is the first difference; `lost` is the error of the second one.
  const Vec<double> first = n * -C::kPiHalf[0] + x;
  const Vec<double> part = rounded(n * -C::kPiHalf[1]);
  const Vec<double> sum = first + part;
  const Vec<double> added = sum - first;
  const Vec<double> lost = (first - (sum - added)) + (part - added);
  r = sum + (n * -C::kPiHalf[2] + lost);
  return shifted;
}

/// x = n pi/2 + r. Returns a word whose last bits are n.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline BitsVec<T> reduce_by_pi_half(V x, V& r) {
  using C = TrigonometryConstants<T>;
  BitsVec<T> n = bit_cast<BitsVec<T>>(reduce_near(x, r));
  const V a = abs(x);
  const Mask<T> is_far = (a > C::kNear) | ((abs(r) < C::kSuspect) & (a > T{1}));
  if (__builtin_expect(any_lane<T>(is_far), false)) reduce_far_lanes<T>(is_far, x, n, r);
  return n;
}

/// sin(n pi/2 + r).
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V sine_of_parts(BitsVec<T> n, V r) {
  using C = TrigonometryConstants<T>;
  constexpr int kToSign = 8 * sizeof(T) - 2;  // from the bit that is worth 2
  const V square = rounded(r * r);
  const V sine = horner(square, C::kSin) * (square * r) + r;
  const V cosine = horner(square, C::kCos) * square + T{1};
  const V size = (n & Bits<T>{1}) != BitsVec<T>{} ? cosine : sine;
  return bit_cast<V>(bit_cast<BitsVec<T>>(size) ^ ((n & Bits<T>{2}) << kToSign));
}

/// The sine of x in radians: NaN for infinities.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V sin(V x) {
  V r;
  const BitsVec<T> n = reduce_by_pi_half(x, r);
  const V y = sine_of_parts(n, r);
  return x == T{0} ? x : y;
}

/// The cosine of x in radians: NaN for infinities.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V cos(V x) {
  V r;
  const BitsVec<T> n = reduce_by_pi_half(x, r);
  return sine_of_parts(n + Bits<T>{1}, r);
}

}  // namespace tessera::kernels::TESSERA_ISA
