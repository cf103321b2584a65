// Masks on a tile of attention's scores.
#pragma once

#include "tensor/kernels/attention_block.h"
#include "tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

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
  if (masks.keep.data != nullptr) {
    const bool* keep = block.at(masks.keep, key);
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count; ++i) {
        if (!keep[i * masks.keep.query + j * masks.keep.key])
          scores[j * kQueryBlock + i] = -kInfinity<T>;
      }
    }
  }
  if (masks.bias.data != nullptr) {
    const T* bias = block.at(masks.bias, key);
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count; ++i) {
        T& score = scores[j * kQueryBlock + i];
        const T b = bias[i * masks.bias.query + j * masks.bias.key];
        if (b == -kInfinity<T> || score == -kInfinity<T>) {
          score = -kInfinity<T>;  // not score + b: a masked score, or bias, may be NaN
        } else {
          // A bias near the largest number, often used as a mask, must not become infinite here. A
          // bias of +inf stays, and makes the row NaN.
          const T scaled = b * static_cast<T>(MathConstants<double>::kLog2E);
          score += scaled < -kLargest<T>                       ? -kLargest<T>
                   : scaled > kLargest<T> && b != kInfinity<T> ? kLargest<T>
                                                               : scaled;
        }
      }
    }
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
