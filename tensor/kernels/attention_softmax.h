// The softmax inside attention: a tile of scores, in units of ln 2, becomes weights.
//
// Lanes are queries, so the running maximum and the running sum need no horizontal operations.
// Weights are 2^(score - m) with m the largest score of the query so far: when a tile raises m,
// older sums are scaled by 2^(m_old - m_new).
//
// **Source**: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
#pragma once

#include "tessera/tensor/kernels/attention_block.h"
#include "tessera/tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

// 2^r for |r| <= 1/2, highest power first.
template <class T>
struct PowerOfTwo;
template <>
struct PowerOfTwo<float> {
  static constexpr float kTerms[] = {0.0013264727F, 0.009671513F, 0.055507336F,
                                     0.24022242F,   0.693147F,    1};
};
template <>
struct PowerOfTwo<double> {
  static constexpr double kTerms[] = {
      4.4347705024668045e-10, 7.073783241791062e-09, 1.0178199576815802e-07,
      1.3215435282336804e-06, 1.525273349311665e-05, 0.00015403530457112067,
      0.001333355814677463,   0.00961812910759412,   0.055504108664820084,
      0.2402265069591013,     0.6931471805599453,    1};
};

/// 2^x for x <= 0, with an error of at most 2.03 (double: 0.95) units in the last place. Results
/// below 2^-126.5 (double: 2^-1022.5) are 0; NaN gives NaN.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> exp2_of_negatives(const Vectors<T, kCount>& x) {
  using C = MathConstants<T>;
  using V = Vec<T>;
  // The last bits of x + kRound are the integer n nearest to x, plus the bias of the exponent.
  constexpr T kRound = C::kRoundToInteger + C::kExponentBias;
  const V lowest = rounded(broadcast(T{-C::kExponentBias}));  // 2^n is 0 for this n
  const auto clamped = each([&](V v) { return max(lowest, v); }, x);
  const auto shifted = each([](V v) { return v + kRound; }, clamped);
  const auto r = each([](V v, V s) { return v - (s - kRound); }, clamped, shifted);
  const auto scale = [](V power, V s) {
    const BitsVec<T> exponent = bit_cast<BitsVec<T>>(s) << C::kFractionBits;
    return rounded(power * bit_cast<V>(exponent));
  };
  return each(scale, horner(r, PowerOfTwo<T>::kTerms), shifted);
}

/// Replaces kKeys rows of scores, two vectors of queries each, by weights relative to `shift`, and
/// adds the weights to `sum`.
template <class T, int kKeys>
[[gnu::always_inline]] inline void exponentiate(T* scores, const Vec<T> (&shift)[kPanelVectors],
                                                Vec<T> (&sum)[kPanelVectors]) {
  constexpr int kCount = kKeys * kPanelVectors;
  const auto address = [&](int i) {
    return scores + i / kPanelVectors * kQueryBlock + i % kPanelVectors * kLanes<T>;
  };
  Vectors<T, kCount> p;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p.at[i] = load(address(i)) - shift[i % kPanelVectors];
  p = exp2_of_negatives(p);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    store(address(i), p.at[i]);
    sum[i % kPanelVectors] = sum[i % kPanelVectors] + p.at[i];
  }
}

/// exponentiate_tile for one panel of queries.
template <class T>
inline Mask<T> exponentiate_panel(index_t keys, T* scores, T* maximum, T* sums, T* scales) {
  Vec<T> largest[kPanelVectors], shift[kPanelVectors], sum[kPanelVectors];
  for (Vec<T>& x : largest) x = broadcast(-kInfinity<T>);
  for (index_t j = 0; j < keys; ++j) {
    for (int v = 0; v < kPanelVectors; ++v) {
      largest[v] = max(load(scores + j * kQueryBlock + v * kLanes<T>), largest[v]);
    }
  }
  Mask<T> rescale = {};
  for (int v = 0; v < kPanelVectors; ++v) {
    const index_t i = v * kLanes<T>;
    const Vec<T> before = load(maximum + i);
    const Vec<T> now = max(largest[v], before);
    store(maximum + i, now);
    // If the query has seen no key, m is -inf, and -inf - -inf would be NaN.
    shift[v] = now == broadcast(-kInfinity<T>) ? Vec<T>{} : now;
    const Vec<T> scale = exp2_of_negatives(Vectors<T, 1>{{before - shift[v]}}).at[0];
    store(scales + i, scale);
    rescale = rescale | (scale != broadcast(T{1}));
    sum[v] = rounded(load(sums + i) * scale);
  }
  constexpr int kAtOnce = kInLockstep / kPanelVectors;
  index_t j = 0;
  for (; j + kAtOnce <= keys; j += kAtOnce) {
    exponentiate<T, kAtOnce>(scores + j * kQueryBlock, shift, sum);
  }
  if (j < keys) exponentiate<T, 1>(scores + j * kQueryBlock, shift, sum);
  for (int v = 0; v < kPanelVectors; ++v) store(sums + v * kLanes<T>, sum[v]);
  return rescale;
}

/// Replaces scores by weights relative to the maximum of each query, which the tile may raise.
/// Returns whether older sums of any query must be scaled.
template <class T>
inline bool exponentiate_tile(const QueryBlock<T>& block, index_t keys,
                              const AttentionScratch<T>& scratch) {
  Mask<T> rescale = {};
  for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
    rescale = rescale | exponentiate_panel(keys, scratch.scores + i, scratch.maximum + i,
                                           scratch.sum + i, scratch.scale + i);
  }
  return any_lane<T>(rescale);
}

}  // namespace tessera::kernels::TESSERA_ISA
