// The gradient of layer normalisation, over contiguous rows: see LayerNormGradientArgs.
//
//     h = (s - mean) rstd + shift                  the normalised row, with the forward's bits
//     ds = rstd (dh - mean(dh) - h mean(dh h)),    dh = dy weight
//     dweight = sum of dy h,  dbias = sum of dy    over the rows
//
// For RMS norm the mean and mean(dh) are 0.
//
// A row is read twice: for its two means, and then, from L1, for everything else. The terms of the
// sums over the rows are not stored in between.
#pragma once

#include "tensor/kernels/layer_norm.h"

namespace tessera::kernels::TESSERA_ISA {

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
