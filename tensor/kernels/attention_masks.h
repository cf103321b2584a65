// Masks on a tile of attention's scores.
#pragma once

#include "tessera/tensor/kernels/attention_block.h"
#include "tessera/tensor/kernels/math.h"
#include "tessera/tensor/kernels/transpose.h"

namespace tessera::kernels::TESSERA_ISA {

/// The terms that `count` neighbouring elements of a mask add to scores: the bias itself, or -inf
/// for a key that is not kept. The other lanes are 0.
template <class T>
inline Vec<T> load_added(const T* bias, index_t count) {
  return load_some(bias, count);
}

template <class T>
inline Vec<T> load_added(const bool* keep, index_t count) {
  Mask<T> masked = {};
  for (index_t i = 0; i < count; ++i) masked[i] = !keep[i];
  return masked != Mask<T>{} ? broadcast(-kInfinity<T>) : Vec<T>{};
}

/// The same for at most kLanes keys and kLanes queries, which are lanes. Slow, one element at a
/// time, only if the query stride is neither 0 nor 1 and the key stride is not 1.
template <class T, class U>
inline void load_added(const PerScore<U>& mask, U* from, index_t keys, index_t queries,
                       Vec<T> (&added)[kLanes<T>]) {
  if (mask.query == 1 || mask.query == 0) {
    for (index_t j = 0; j < keys; ++j) {
      U* const row = from + j * mask.key;
      added[j] =
          mask.query == 1 ? load_added<T>(row, queries) : broadcast(load_added<T>(row, 1)[0]);
    }
    return;
  }
  for (index_t i = 0; i < kLanes<T>; ++i) {
    added[i] = Vec<T>{};
    if (i >= queries) continue;
    U* const column = from + i * mask.query;
    if (mask.key == 1) {
      added[i] = load_added<T>(column, keys);
    } else {
      for (index_t j = 0; j < keys; ++j) added[i][j] = load_added<T>(column + j * mask.key, 1)[0];
    }
  }
  transpose<T>(added);
}

/// scores = f(scores, terms of the mask), for the block's queries and `keys` keys.
template <class T, class U, class F>
inline void change_scores(const QueryBlock<T>& block, const PerScore<U>& mask, index_t key,
                          index_t keys, T* scores, const F& f) {
  if (mask.data == nullptr) return;
  U* const first = block.at(mask, key);
  for (index_t j = 0; j < keys; j += kLanes<T>) {
    const index_t rows = at_most(keys - j, kLanes<T>);
    for (index_t i = 0; i < block.count; i += kLanes<T>) {
      Vec<T> added[kLanes<T>];
      load_added<T>(mask, first + j * mask.key + i * mask.query, rows,
                    at_most(block.count - i, kLanes<T>), added);
      for (index_t r = 0; r < rows; ++r) {
        T* const to = scores + (j + r) * kQueryBlock + i;
        store(to, f(load(to), added[r]));
      }
    }
  }
}

/// score + log2(e) bias: scores are in units of ln 2, the bias is not.
template <class T>
inline Vec<T> add_bias(Vec<T> score, Vec<T> bias) {
  const Vec<T> none = broadcast(-kInfinity<T>);
  // A bias near the largest number, often used as a mask, must not become infinite here. A bias of
  // +inf stays, and makes the row NaN.
  const Vec<T> most = broadcast(kLargest<T>);
  const Vec<T> scaled = rounded(bias * static_cast<T>(MathConstants<double>::kLog2E));
  const Vec<T> low = scaled < -most ? -most : scaled;
  const Mask<T> is_above = (scaled > most) & (bias != broadcast(kInfinity<T>));
  const Vec<T> finite = is_above ? most : low;
  // Not score + bias: a masked score, or bias, may be NaN.
  const Mask<T> is_masked = (bias == none) | (score == none);
  return is_masked ? none : score + finite;
}

/// Overwrites masked scores with -inf and adds the bias.
template <class T>
inline void mask_scores(const QueryBlock<T>& block, index_t key, index_t keys, T* scores) {
  const AttentionMasks<T>& masks = block.args.masks;
  // Key j is seen by the block's queries [from, to).
  const index_t ahead = masks.causal ? 0 : masks.window;
  const index_t last = block.first + block.count - 1;
  if (key + keys - 1 > block.first + ahead || key < last - masks.window) {
    for (index_t j = 0; j < keys; ++j) {
      const index_t from = at_most(key + j - ahead - block.first, block.count);
      const index_t to = at_least(key + j + masks.window + 1 - block.first, 0);
      T* const row = scores + j * kQueryBlock;
      for (index_t i = 0; i < from; ++i) row[i] = -kInfinity<T>;
      for (index_t i = to; i < block.count; ++i) row[i] = -kInfinity<T>;
    }
  }
  change_scores(block, masks.keep, key, keys, scores,
                [](Vec<T> score, Vec<T> added) { return added == Vec<T>{} ? score : added; });
  change_scores(block, masks.bias, key, keys, scores, add_bias<T>);
}

}  // namespace tessera::kernels::TESSERA_ISA
