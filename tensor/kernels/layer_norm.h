// Layer normalisation over contiguous rows.
//
//     y = (s - mean(s)) / sqrt(variance(s) + eps) * weight + bias
//
// The mean is computed as that of s - s[0], plus s[0], and kept in two parts: the nearest number,
// `centre`, and the remainder, `rest`. So a mean of 1e6 with a deviation of 1 loses no digits, a
// constant row gives exactly the bias if eps > 0, and a deviation takes one subtraction:
//
//     variance = mean((s - centre)^2) - rest^2
//     y = ((s - centre) * rstd - rest * rstd) * weight + bias
//
// RMS norm is the same with a mean of 0, which saves a pass:
//
//     y = s / sqrt(mean(s^2) + eps) * weight
//
// Four rows are normalised at a time: their independent chains of additions hide the latency. If y
// is far larger than the caches, memory bandwidth is the limit: y is written by non-temporal
// stores, and long rows are read only two at a time, because the hardware prefetcher follows few
// streams.
//
// **Source**: Ba, Kiros and Hinton, "Layer Normalization", 2016, section 3; Zhang and Sennrich,
// "Root Mean Square Layer Normalization", 2019, section 4.
#pragma once

#include "tensor/kernels/reduce.h"

namespace tessera::kernels::TESSERA_ISA {

/// R rows and their statistics. The mean is 0 until find_mean.
template <index_t R, class T>
struct NormRows {
  const T* s[R];
  T centre[R] = {};
  T rest[R] = {};
  T rstd[R];
  T shift[R];  // -rest * rstd
};

template <index_t R, class T>
[[gnu::always_inline]] inline void find_mean(index_t n, NormRows<R, T>& rows) {
  T first[R], sum[R];
  for (index_t r = 0; r < R; ++r) first[r] = rows.s[r][0];
  const auto block_step = [&](index_t begin, index_t) {
    return [&, begin](Vec<T> lane, index_t r, index_t i, index_t count) {
      const Vec<T> shifted = load_some(rows.s[r] + begin + i, count) - first[r];
      return keep_first<T>(shifted, count, T{0}) + lane;
    };
  };
  reduce_side_by_side(n, T{0}, Plus(), block_step, sum);
  for (index_t r = 0; r < R; ++r) {
    const T mean = sum[r] / static_cast<T>(n);
    rows.centre[r] = first[r] + mean;
    rows.rest[r] = mean - (rows.centre[r] - first[r]);
  }
}

/// Computes rstd, and prefetches `next`, the R rows that follow.
template <index_t R, class T>
[[gnu::always_inline]] inline void find_rstd(index_t n, T eps, const T* next,
                                             NormRows<R, T>& rows) {
  T sum[R];
  const auto block_step = [&](index_t begin, index_t) {
    return [&, begin](Vec<T> lane, index_t r, index_t i, index_t count) {
      constexpr index_t kPerLine = 64 / kVectorBytes;
      if (r % kPerLine == 0) prefetch(next, R * (begin + i) + r * kLanes<T>);
      const Vec<T> deviation = load_some(rows.s[r] + begin + i, count) - rows.centre[r];
      const Vec<T> kept = keep_first<T>(deviation, count, T{0});
      // Rounded, because otherwise Clang merges the tails of the unrolled loop and moves the
      // addition past that branch, away from its product (README.md, rule 3).
      return rounded(kept * kept + lane);
    };
  };
  reduce_side_by_side(n, T{0}, Plus(), block_step, sum);
  for (index_t r = 0; r < R; ++r) {
    const T variance = sum[r] / static_cast<T>(n) - rows.rest[r] * rows.rest[r];
    rows.rstd[r] = T{1} / sqrt(broadcast(variance + eps))[0];
    rows.shift[r] = -rounded(rows.rest[r] * rows.rstd[r]);
  }
}

template <bool kStream, index_t R, class T>
[[gnu::always_inline]] inline void write_rows(const LayerNormArgs<T>& args, T* y,
                                              const NormRows<R, T>& rows) {
  for_each_vector<T>(args.n, [&](index_t i, index_t count) {
    const Vec<T> one = broadcast(T{1});
    const Vec<T> weight = args.weight != nullptr ? load_some(args.weight + i, count) : one;
    const Vec<T> bias = args.bias != nullptr ? load_some(args.bias + i, count) : Vec<T>{};
#pragma GCC unroll 4
    for (index_t r = 0; r < R; ++r) {
      const Vec<T> deviation = load_some(rows.s[r] + i, count) - rows.centre[r];
      const Vec<T> result = (deviation * rows.rstd[r] + rows.shift[r]) * weight + bias;
      T* to = y + r * args.y_row + i;
      if (kStream && count == kLanes<T>) {
        stream(to, result);
      } else {
        store_some(to, result, count);
      }
    }
  });
}

/// Normalises groups of R rows from row `begin` on; returns the first of the fewer than R rows
/// left.
template <index_t R, bool kStream, class T>
inline index_t normalize_groups(const LayerNormArgs<T>& args, index_t begin) {
  for (; begin + R <= args.rows; begin += R) {
    NormRows<R, T> rows;
    for (index_t r = 0; r < R; ++r) rows.s[r] = args.x + (begin + r) * args.x_row;
    if (args.centres) find_mean(args.n, rows);
    find_rstd(args.n, args.eps, args.x + (begin + R) * args.x_row, rows);
    write_rows<kStream>(args, args.y + begin * args.y_row, rows);
    for (index_t r = 0; r < R; ++r) {
      if (args.mean != nullptr) args.mean[begin + r] = rows.centre[r];
      if (args.rstd != nullptr) args.rstd[begin + r] = rows.rstd[r];
      if (args.shift != nullptr) args.shift[begin + r] = rows.shift[r];
    }
  }
  return begin;
}

/// Whether y is written by non-temporal stores: y must be large and aligned, and must not be x,
/// which is in the caches.
template <class T>
inline bool streams(const LayerNormArgs<T>& args) {
  constexpr index_t kLarge = (index_t{8} << 20) / static_cast<index_t>(sizeof(T));
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(args.y) % kVectorBytes == 0 && args.y_row % kLanes<T> == 0;
  return args.rows * args.n >= kLarge && aligned && args.y != args.x;
}

template <class T>
void layer_norm(const LayerNormArgs<T>& args) noexcept {
  if (args.n == 0) return;
  index_t done = 0;
  if (!streams(args)) {
    done = normalize_groups<4, false>(args, 0);
  } else {
    constexpr index_t kShort = 1024 / static_cast<index_t>(sizeof(T));
    done =
        args.n <= kShort ? normalize_groups<4, true>(args, 0) : normalize_groups<2, true>(args, 0);
    finish_streams();
  }
  normalize_groups<1, false>(args, done);
}

}  // namespace tessera::kernels::TESSERA_ISA
