// Elementary functions on vectors.
//
// Each function is accurate over the whole range of its argument: NaN gives NaN, infinities give
// the limits, results below the smallest normal number lose only the bits of gradual underflow.
// Largest errors in units in the last place, the larger of with and without fused multiply-add;
// float over all floats, double over 2^27 values of all sizes, denser where a function is strongly
// curved:
//
//                exp    log   tanh    erf   sigmoid
//     float     1.05   0.93   1.51   1.44   2.41
//     double    0.98   1.32   1.51   1.87   2.44
//
// and over every seventh float and 2^25 doubles:
//
//              expm1  log1p  softplus
//     float     1.70   1.66   1.99
//     double    1.93   1.68   1.95
//
// The error of silu is at most 3 if exp(x) is a normal number; below that, exp(x) has lost digits,
// and the error is at most x times the smallest number. round and floor are exact.
//
// **Reproducibility.** Sums of products are written `sum * x + c`, with one product each, so that
// every compiler fuses the same products; a product that a caller might add to something is
// `rounded` first.
//
// **Source**: the argument reductions are the usual ones (J.-M. Muller, "Elementary Functions", 3rd
// edition, ch. 11); the coefficients are minimax fits (Remez) made for these forms.
#pragma once

#include "tessera/tensor/kernels/lockstep.h"

namespace tessera::kernels::TESSERA_ISA {

// The coefficients, highest power first, and the constants of each type.
template <class T>
struct MathConstants;

template <>
struct MathConstants<float> {
  static constexpr int kFractionBits = 23;
  static constexpr int kExponentBias = 127;
  static constexpr float kRoundToInteger = 12582912.0F;  // 1.5 * 2^23: its last bit is worth 1
  static constexpr float kLog2E = 1.44269504F;
  static constexpr float kLn2High = 0.693145752F;  // 16 bits: its products with exponents are exact
  static constexpr float kLn2Low = 1.42860677e-6F;
  static constexpr float kLn2 = 0.693147181F;
  static constexpr float kExpHighest = 89.0F;      // above, exp is inf
  static constexpr float kExpLowest = -104.0F;     // below, exp is 0
  static constexpr float kExpNormal = -87.33654F;  // below, exp is not a normal number
  static constexpr float kExpm1Lowest = -20.0F;    // below, exp - 1 rounds to -1
  static constexpr float kTanhIsOne = 10.0F;
  static constexpr float kSmallestNormal = 0x1p-126F;
  static constexpr float kSqrtHalf = 0.707106781F;
  // (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
  static constexpr float kExp[] = {0.00138825201F, 0.00836652704F, 0.0416672006F, 0.166665435F,
                                   0.49999997F};
  // (log(1 + f) - f) / f^2 for 1 + f in [sqrt(1/2), sqrt(2)]
  static constexpr float kLog[] = {-0.0762177706F, 0.129044324F,  -0.132429883F,
                                   0.141818255F,   -0.166090831F, 0.200019732F,
                                   -0.250015825F,  0.333333254F,  -0.499999881F};
  // (tanh(x) / x - 1) / x^2 in powers of x^2, for |x| <= 0.5625
  static constexpr float kTanh[] = {-0.00617981609F, 0.0210074633F, -0.0538374297F, 0.133324519F,
                                    -0.333333135F};
  // erf(x) / x - 1 in powers of x^2, for |x| <= 1
  static constexpr float kErf[] = {7.85386146e-05F, -0.000801019371F, 0.00518832775F,
                                   -0.0268538129F,  0.112835854F,     -0.37612626F,
                                   0.128379166F};
  // erfc(a) exp(a^2) / t in powers of t = 1 / (1 + kErfcScale a), for a >= 1
  static constexpr float kErfcScale = 0.4F;
  static constexpr float kErfc[] = {-0.116387084F, 0.243843868F, 0.00811289623F, 0.213074967F,
                                    0.198792055F,  0.226688609F, 0.225627407F};
  // (1 - Phi(a)) exp(a^2 / 2) / t in powers of t = 1 / (1 + kNormalScale a), for a >= 0; Phi is the
  // normal distribution
  static constexpr float kNormalScale = 0.3F;
  static constexpr float kNormalQuotient[] = {0.0367843881F,  -0.161609426F, 0.213515624F,
                                              -0.0598159507F, 0.131521776F,  0.0991172642F,
                                              0.120862737F,   0.119623616F};
  static constexpr float kGeluLowest = -18.0F;
};

template <>
struct MathConstants<double> {
  static constexpr int kFractionBits = 52;
  static constexpr int kExponentBias = 1023;
  static constexpr double kRoundToInteger = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLog2E = 1.4426950408889634;
  static constexpr double kLn2High = 6.93147180369123816490e-1;  // 32 bits
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kLn2 = 0.69314718055994531;
  static constexpr double kExpHighest = 710.0;
  static constexpr double kExpLowest = -746.0;
  static constexpr double kExpNormal = -708.3964185322641;
  static constexpr double kExpm1Lowest = -40.0;
  static constexpr double kTanhIsOne = 20.0;
  static constexpr double kSmallestNormal = 0x1p-1022;
  static constexpr double kSqrtHalf = 0.70710678118654752;
  static constexpr double kExp[] = {2.0875330745517792e-09,
                                    2.5108990364809543e-08,
                                    2.7557402672545457e-07,
                                    2.7557244343944612e-06,
                                    2.4801587172465528e-05,
                                    0.00019841269885993045,
                                    0.0013888888888962427,
                                    0.0083333333333216828,
                                    0.041666666666666512,
                                    0.16666666666666677,
                                    0.5};
  static constexpr double kLog[] = {
      -0.024231977825093631, 0.056991501372050168,  -0.062849267311518742,
      0.054193636627602168,  -0.053238822608262668, 0.05816190698229242,
      -0.062701139824369034, 0.06675431037416435,   -0.071419921585363033,
      0.076916876123858058,  -0.08333344581675653,  0.090909350053221635,
      -0.10000000501341404,  0.11111110465960995,   -0.12499999977313515,
      0.14285714294805699,   -0.16666666667007068,  0.19999999999936569,
      -0.24999999999998074,  0.33333333333333487,   -0.5};
  static constexpr double kTanh[] = {
      -1.890396736757133e-05, 8.2360938678756012e-05, -0.00023271622766842591,
      0.00058818365335002701, -0.0014554796432679515, 0.0035920822502598523,
      -0.0088632316372036953, 0.021869488327276903,   -0.053968253961724402,
      0.13333333333323133,    -0.33333333333333276};
  static constexpr double kErf[] = {
      5.9452590996840947e-11,  -1.1365664375907982e-09, 1.4657879428839746e-08,
      -1.6350025161108566e-07, 1.6460972811252258e-06,  -1.4925593506534995e-05,
      0.00012055331036885118,  -0.00085483269787418154, 0.0052239776247808602,
      -0.026866170645072893,   0.11283791670954857,     -0.37612638903183748,
      0.12837916709551259};
  static constexpr double kErfcScale = 0.3;
  static constexpr double kErfc[] = {
      -0.0041642327895470548, 0.037208110166394123, -0.14246460419928256, 0.30672325640445491,
      -0.41588483981430407,   0.39371402571519282,  -0.2889546124198058,  0.15144270553685868,
      -0.059386189199533791,  0.043107249117775158, 0.038117296692369886, 0.071315562698841359,
      0.098061068792840919,   0.12460551612329733,  0.14640554770530922,  0.16164040949762967,
      0.16925687181857388,    0.16925687511574156};
  static constexpr double kNormalScale = 0.2;
  static constexpr double kNormalQuotient[] = {
      0.0014716778004389126, -0.016667102044617268, 0.085499717189913407, -0.26192932753889858,
      0.53432032692049691,   -0.7732610827017895,   0.83606354925631976,  -0.70240522866414046,
      0.45995531115890104,   -0.24030919407937057,  0.1083034773392815,   -0.018911217894756492,
      0.034725804683990731,  0.035667445764479763,  0.050101528074359289, 0.060983335845399618,
      0.070217359131999529,  0.076596699454812817,  0.079788464367380407, 0.079788455935799169};
  static constexpr double kGeluLowest = -40.0;
};

/// c[0] x^(N-1) + ... + c[N-1].
template <class T, int N>
[[gnu::always_inline]] inline Vec<T> horner(Vec<T> x, const T (&c)[N]) {
  return horner(Vectors<T, 1>{{x}}, c).at[0];
}

/// `magnitude`, which must not be negative, with the sign of `sign`.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V with_sign(V magnitude, V sign) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);
  return bit_cast<V>(bit_cast<BitsVec<T>>(magnitude) | (bit_cast<BitsVec<T>>(sign) & kSign));
}

/// 2^n for the integer n in the last bits of kRoundToInteger + n; 2^n must be a normal number.
template <class T>
[[gnu::always_inline]] inline Vec<T> power_of_two(BitsVec<T> n) {
  using C = MathConstants<T>;
  return bit_cast<Vec<T>>((n + C::kExponentBias) << C::kFractionBits);
}

/// exp(r) - 1 for |r| <= ln(2) / 2.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V expm1_reduced(V r) {
  return (r * r) * horner(r, MathConstants<T>::kExp) + r;
}

/// Argument reduction: x = n log(2) + r, n the integer nearest to x log2(e). Returns
/// kRoundToInteger + n.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V reduce_exp(V x, V& r) {
  using C = MathConstants<T>;
  const V shifted = x * C::kLog2E + C::kRoundToInteger;
  const V n = shifted - C::kRoundToInteger;
  r = n * -C::kLn2High + x;
  r = n * -C::kLn2Low + r;
  return shifted;
}

/// 2^n exp(r), n as in reduce_exp. Two factors of about 2^(n/2) allow results that are not normal
/// numbers.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V scaled_exp(V shifted, V r) {
  using C = MathConstants<T>;
  const V half = (shifted - C::kRoundToInteger) * T{0.5} + C::kRoundToInteger;
  const BitsVec<T> half_bits = bit_cast<BitsVec<T>>(half);
  const V first = power_of_two<T>(half_bits);
  const V second = power_of_two<T>(bit_cast<BitsVec<T>>(shifted) - half_bits);
  return rounded((expm1_reduced(r) * first + first) * second);
}

/// 2^n exp(r), n as in reduce_exp; the result must be a normal number.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V scaled_normal_exp(V shifted, V r) {
  const V scale = power_of_two<T>(bit_cast<BitsVec<T>>(shifted));
  return rounded(expm1_reduced(r) * scale + scale);
}

/// e^x.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V exp(V x) {
  using C = MathConstants<T>;
  // If the result underflows to 0, exp(0) is computed instead: on many processors underflow is
  // slow.
  const Mask<T> is_zero = x < C::kExpLowest;
  V r;
  const V shifted = reduce_exp(is_zero ? V{} : x, r);
  const V result = x > C::kExpHighest ? broadcast(kInfinity<T>) : scaled_exp(shifted, r);
  return is_zero ? V{} : result;
}

/// e^x for x <= 0, as softmax needs it: results below the smallest normal number are 0.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V exp_of_negative(V x) {
  V r;
  const V shifted = reduce_exp(x, r);
  const V result = scaled_normal_exp(shifted, r);
  return x < MathConstants<T>::kExpNormal ? V{} : result;
}

/// e^x - 1, by exp(r) - 1 near 0; -1 if e^x is too small to change it.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V expm1(V x) {
  using C = MathConstants<T>;
  V r;
  const V shifted = reduce_exp(x < C::kExpm1Lowest ? broadcast(C::kExpm1Lowest) : x, r);
  const V half = (shifted - C::kRoundToInteger) * T{0.5} + C::kRoundToInteger;
  const BitsVec<T> half_bits = bit_cast<BitsVec<T>>(half);
  const BitsVec<T> rest_bits = bit_cast<BitsVec<T>>(shifted) - half_bits;
  const V first = power_of_two<T>(half_bits);
  const V second = power_of_two<T>(rest_bits);
  const V inverse = power_of_two<T>(BitsVec<T>{} - rest_bits);  // of second
  const V sum = rounded((expm1_reduced(r) * first + (first - inverse)) * second);
  const V result = x > C::kExpHighest ? broadcast(kInfinity<T>) : sum;
  return x == T{0} ? x : result;
}

/// x = 2^e m with m in [sqrt(1/2), sqrt(2)), for finite x > 0. Returns e.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V split_exponent(V x, V& m) {
  using C = MathConstants<T>;
  constexpr T kScale = static_cast<T>(index_t{1} << (C::kFractionBits + 2));
  const V zero = {};
  const V one = zero + T{1};
  const V sqrt_half = zero + C::kSqrtHalf;
  const Mask<T> is_subnormal = x < C::kSmallestNormal;
  // The difference of the bits of 1 and sqrt(1/2), added to the bits of x, carries into the
  // exponent exactly if the fraction of x is at least that of sqrt(1/2).
  const BitsVec<T> bits = bit_cast<BitsVec<T>>(is_subnormal ? x * kScale : x);
  const BitsVec<T> one_bits = bit_cast<BitsVec<T>>(one);
  const BitsVec<T> carried = bits + (one_bits - bit_cast<BitsVec<T>>(sqrt_half));
  const BitsVec<T> biased = carried >> C::kFractionBits;
  m = bit_cast<V>(bits + one_bits - (biased << C::kFractionBits));
  const V offset = zero + C::kRoundToInteger;
  const V e = bit_cast<V>(biased + bit_cast<BitsVec<T>>(offset)) - offset;
  return e - (is_subnormal ? zero + T{C::kExponentBias + C::kFractionBits + 2}
                           : zero + T{C::kExponentBias});
}

/// The natural logarithm: -inf for 0, NaN for negative numbers.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V log(V x) {
  using C = MathConstants<T>;
  const V zero = {};
  V m;
  const V e = split_exponent(x, m);
  const V f = m - T{1};
  V sum = (f * f) * horner(f, C::kLog) + f;
  sum = e * C::kLn2Low + sum;
  sum = e * C::kLn2High + sum;
  sum = x == zero ? broadcast(-kInfinity<T>) : sum;
  sum = x < zero ? broadcast(static_cast<T>(__builtin_nanf(""))) : sum;
  return x < kInfinity<T> ? sum : x;
}

/// log(1 + x): the logarithm of u = 1 + x, rounded, plus a correction for the rounding error of u.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V log1p(V x) {
  const V u = x + T{1};
  const V lost = x - (u - T{1});
  const Mask<T> is_regular = (u > T{0}) & (u < kInfinity<T>);
  const V sum = log(u) + (is_regular ? lost / u : V{});
  return x == T{0} ? x : sum;
}

/// The hyperbolic tangent: x + x^3 P(x^2) near 0, elsewhere 1 - 2 e / (1 + e) with e = exp(-2 |x|).
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V tanh(V x) {
  using C = MathConstants<T>;
  const V a = abs(x);
  const V square = rounded(a * a);
  const V near = horner(square, C::kTanh) * (square * a) + a;
  V r;
  const V capped = a > C::kTanhIsOne ? broadcast(C::kTanhIsOne) : a;
  const V shifted = reduce_exp(rounded(capped * T{-2}), r);
  const V scale = power_of_two<T>(bit_cast<BitsVec<T>>(shifted));
  const V e = expm1_reduced(r) * scale + scale;
  const V far = T{1} - (e + e) / (e + T{1});
  return with_sign(a < T{0.5625} ? near : far, x);
}

/// 1 / (1 + exp(-x)), for x < 0 as exp(x) / (1 + exp(x)).
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V sigmoid(V x) {
  const V e = exp(-abs(x));
  return (x < T{0} ? e : broadcast(T{1})) / (e + T{1});
}

/// x, limited to the range in which exp(-|x|) is not 0; NaN for NaN.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V sigmoid_argument(V x) {
  using C = MathConstants<T>;
  const V above = x < C::kExpLowest ? broadcast(C::kExpLowest) : x;
  return x > -C::kExpLowest ? broadcast(-C::kExpLowest) : above;
}

/// x sigmoid(x); 0 for -inf.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V silu(V x) {
  using C = MathConstants<T>;
  return rounded((x < C::kExpLowest ? broadcast(C::kExpLowest) : x) * sigmoid(x));
}

/// The slope of silu: sigmoid(x) + x sigmoid(x) sigmoid(-x).
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V silu_slope(V x) {
  const V v = sigmoid_argument(x);
  const V e = exp(-abs(v));
  const V one_more = e + T{1};
  const V product = e / rounded(one_more * one_more);  // of both sigmoids, without losing digits
  return rounded(v * product + (v < T{0} ? e : broadcast(T{1})) / one_more);
}

/// log(1 + exp(x)).
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V softplus(V x) {
  return (x < T{0} ? V{} : x) + log1p(exp(-abs(x)));
}

/// erf(x) for |x| <= 1.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V erf_near(V x) {
  return horner(rounded(x * x), MathConstants<T>::kErf) * x + x;
}

/// 1 - erf(a) for a >= 1.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V erfc_far(V a) {
  using C = MathConstants<T>;
  const V t = broadcast(T{1}) / (a * C::kErfcScale + T{1});
  return rounded(exp(rounded(a * -a)) * (t * horner(t, C::kErfc)));
}

/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V erf(V x) {
  const V a = abs(x);
  return a < T{1} ? erf_near(x) : with_sign(T{1} - erfc_far(a), x);
}

/// The nearest integer, ties to even; a result of 0 has the sign of x.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V round(V x) {
  constexpr T kAllWhole = static_cast<T>(index_t{1} << MathConstants<T>::kFractionBits);
  const V a = abs(x);
  return a < kAllWhole ? with_sign((a + kAllWhole) - kAllWhole, x) : x;
}

/// The largest integer that is at most x.
template <class V, class T = Element<V>>
[[gnu::always_inline]] inline V floor(V x) {
  const V nearest = round(x);
  return nearest > x ? nearest - T{1} : nearest;
}

/// max(x, 0), NaN for NaN.
template <class V>
[[gnu::always_inline]] inline V relu(V x) {
  return x <= Element<V>{0} ? V{} : x;
}

}  // namespace tessera::kernels::TESSERA_ISA
