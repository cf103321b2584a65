// Layer normalisation over contiguous rows, and its gradient.
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

#include "tessera/tensor/kernels/reduce.h"

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

template <class T>
void layer_norm(const LayerNormArgs<T>& args) noexcept {
  if (args.n == 0) return;
  index_t done = 0;
  const bool in_place = args.y == args.x;  // x is in the caches
  if (in_place || !is_worth_streaming(args.y, args.y_row, args.rows * args.n, kVectorBytes)) {
    done = normalize_groups<4, false>(args, 0);
  } else {
    constexpr index_t kShort = 1024 / static_cast<index_t>(sizeof(T));
    done =
        args.n <= kShort ? normalize_groups<4, true>(args, 0) : normalize_groups<2, true>(args, 0);
    finish_streams();
  }
  normalize_groups<1, false>(args, done);
}

// The gradient; for RMS norm the mean and mean(dh) are 0:
//
//     h = (s - mean) rstd + shift                  the normalised row, with the forward's bits
//     ds = rstd (dh - mean(dh) - h mean(dh h)),    dh = dy weight
//     dweight = sum of dy h,  dbias = sum of dy    over the rows
//
// A row is read twice: for its two means, and then, from L1, for everything else. The terms of the
// sums over the rows are not stored in between.

/// R rows from row `begin` on, and their statistics.
template <index_t R, class T>
class NormGradientRows {
 public:
  NormGradientRows(const LayerNormGradientArgs<T>& args, index_t begin)
      : weight_(args.weight), centres_(args.centres) {
    for (index_t r = 0; r < R; ++r) {
      s_[r] = args.s + (begin + r) * args.s_row;
      dy_[r] = args.dy + (begin + r) * args.dy_row;
      mean_[r] = centres_ ? args.mean[begin + r] : T{0};
      rstd_[r] = args.rstd[begin + r];
      shift_[r] = centres_ ? args.shift[begin + r] : T{-0.0};
    }
  }

  [[gnu::always_inline]] Vec<T> dy(index_t r, index_t i, index_t count) const {
    return load_some(dy_[r] + i, count);
  }
  [[gnu::always_inline]] Vec<T> h(index_t r, index_t i, index_t count) const {
    return rounded((load_some(s_[r] + i, count) - mean_[r]) * rstd_[r] + shift_[r]);
  }
  [[gnu::always_inline]] Vec<T> weight(index_t i, index_t count) const {
    return weight_ != nullptr ? load_some(weight_ + i, count) : broadcast(T{1});
  }

  /// mean(dh) and mean(dh h).
  [[gnu::always_inline]] void find_means(index_t length) {
    T sum[2 * R];
    Vec<T> dh, h_row;  // of the row whose two sums come next
    const auto block_step = [&](index_t begin, index_t) {
      return [&, begin](Vec<T> lane, index_t which, index_t i, index_t count) {
        if (which % 2 != 0) return rounded(dh * h_row + lane);
        dh = rounded(dy(which / 2, begin + i, count) * weight(begin + i, count));
        // Lanes after the end of the row have (0 - mean) rstd, which may be infinite.
        h_row = keep_first<T>(h(which / 2, begin + i, count), count, T{0});
        return dh + lane;
      };
    };
    reduce_side_by_side(length, T{0}, Plus(), block_step, sum);
    for (index_t r = 0; r < R; ++r) {
      mean_dh_[r] = centres_ ? sum[2 * r] / static_cast<T>(length) : T{0};
      mean_dh_h_[r] = sum[2 * r + 1] / static_cast<T>(length);
    }
  }

  /// ds of elements of row r, from their dh and h.
  [[gnu::always_inline]] Vec<T> ds(index_t r, Vec<T> dh, Vec<T> h_row) const {
    const Vec<T> inner = rounded((dh - mean_dh_[r]) - h_row * mean_dh_h_[r]);
    return rounded(inner * rstd_[r]);
  }

 private:
  const T* s_[R];
  const T* dy_[R];
  const T* weight_;
  bool centres_;
  T mean_[R], rstd_[R], shift_[R];
  T mean_dh_[R] = {}, mean_dh_h_[R] = {};  // zeros if ds is null
};

/// Processes groups of R rows from row `begin` on; returns the first of the fewer than R rows left.
template <index_t R, class T>
inline index_t differentiate_groups(const LayerNormGradientArgs<T>& args, index_t begin) {
  for (; begin + R <= args.rows; begin += R) {
    NormGradientRows<R, T> rows(args, begin);
    if (args.ds != nullptr) rows.find_means(args.n);
    for_each_vector<T>(args.n, [&](index_t i, index_t count) {
      const bool sums = args.dweight != nullptr;
      const bool continues = sums && begin > 0;
      Vec<T> dweight = continues ? load_some(args.dweight + i, count) : Vec<T>{};
      Vec<T> dbias = continues ? load_some(args.dbias + i, count) : Vec<T>{};
      const Vec<T> weight = rows.weight(i, count);
#pragma GCC unroll 4
      for (index_t r = 0; r < R; ++r) {
        const Vec<T> dy = rows.dy(r, i, count);
        const Vec<T> h = rows.h(r, i, count);
        dweight = rounded(dy * h + dweight);
        dbias = dbias + dy;
        if (args.ds == nullptr) continue;
        Vec<T> ds = rows.ds(r, rounded(dy * weight), h);
        const index_t row = begin + r;
        if (args.added != nullptr) ds += load_some(args.added + row * args.added_row + i, count);
        store_some(args.ds + row * args.ds_row + i, ds, count);
      }
      if (!sums) return;
      store_some(args.dweight + i, dweight, count);
      store_some(args.dbias + i, dbias, count);
    });
  }
  return begin;
}

template <class T>
void layer_norm_gradient(const LayerNormGradientArgs<T>& args) noexcept {
  differentiate_groups<1>(args, differentiate_groups<2>(args, 0));
}

}  // namespace tessera::kernels::TESSERA_ISA
