// Masks on a tile of attention's scores.
#pragma once

#include "tensor/kernels/attention_block.h"
#include "tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

/// Overwrites masked scores with -inf and adds the bias.
template <class T>
inline void mask_scores(const QueryBlock<T>& block, index_t key, index_t keys, T* scores) {
  const AttentionArgs<T>& args = block.args;
  // Key j is seen by the block's queries [from, to).
  const index_t ahead = args.causal ? 0 : args.window;
  const index_t last = block.first + block.count - 1;
  if (key + keys - 1 > block.first + ahead || key < last - args.window) {
    for (index_t j = 0; j < keys; ++j) {
      const index_t from = at_most(key + j - ahead - block.first, block.count);
      const index_t to = at_least(key + j + args.window + 1 - block.first, 0);
      T* const row = scores + j * kQueryBlock;
      for (index_t i = 0; i < from; ++i) row[i] = -kInfinity<T>;
      for (index_t i = to; i < block.count; ++i) row[i] = -kInfinity<T>;
    }
  }
  const auto offset = [&](const index_t(&strides)[4]) {
    return block.batch * strides[0] + block.head * strides[1] + block.first * strides[2] +
           key * strides[3];
  };
  if (args.keep != nullptr) {
    const index_t(&s)[4] = args.keep_strides;
    const bool* keep = args.keep + offset(s);
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count; ++i) {
        if (!keep[i * s[2] + j * s[3]]) scores[j * kQueryBlock + i] = -kInfinity<T>;
      }
    }
  }
  if (args.bias != nullptr) {
    const index_t(&s)[4] = args.bias_strides;
    const T* bias = args.bias + offset(s);
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count; ++i) {
        T& score = scores[j * kQueryBlock + i];
        const T b = bias[i * s[2] + j * s[3]];
        if (b == -kInfinity<T> || score == -kInfinity<T>) {
          score = -kInfinity<T>;  // not score + b: a masked score, or bias, may be NaN
        } else {
          // A bias near the end of the range, often used as a mask, must not turn into infinity
          // here. +inf itself stays, and makes the row NaN.
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
