// The softmax inside attention's backward: a tile of scores and of dP becomes P and dS.
//
// Lanes are queries. Dropout applies to P in dV = P^T dO and to dP = dO V^T, but not to D: D is
// computed from the output, which already includes dropout.
#pragma once

#include "tensor/kernels/attention_backward_parts.h"

namespace tessera::kernels::TESSERA_ISA {

/// Replaces kKeys rows of S^T and dP^T from `key` on, two vectors of queries each, by P^T and dS^T.
template <int kKeys, class T, class Drops>
[[gnu::always_inline]] inline void differentiate(index_t key, const Drops& drops, T* weights,
                                                 T* d_scores,
                                                 const Vec<T> (&maximum)[kPanelVectors],
                                                 const Vec<T> (&scale)[kPanelVectors],
                                                 const Vec<T> (&delta)[kPanelVectors]) {
  constexpr int kCount = kKeys * kPanelVectors;
  const auto offset = [](int i) {
    return i / kPanelVectors * kQueryBlock + i % kPanelVectors * kLanes<T>;
  };
  Vectors<T, kCount> p;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p.at[i] = load(weights + offset(i)) - maximum[i % kPanelVectors];
  p = exp2_of_negatives(p);
  const auto drop = drops.template mask<kKeys>(key);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    const Mask<T> used = p.at[i] != Vec<T>{};
    const Vec<T> weight = p.at[i] * scale[i % kPanelVectors];
    const Vec<T> d_weight = drop(i, load(d_scores + offset(i)));
    const Vec<T> d_score = weight * (d_weight - delta[i % kPanelVectors]);
    store(weights + offset(i), used ? drop(i, weight) : Vec<T>{});
    store(d_scores + offset(i), used ? d_score : Vec<T>{});
  }
}

/// Replaces S^T and dP^T by P^T and dS^T for a panel of queries, from query i of the block on.
template <class T, class Drops>
inline void differentiate_panel(index_t i, index_t key, index_t keys, const Drops& drops,
                                const BackwardScratch<T>& scratch) {
  Vec<T> maximum[kPanelVectors], scale[kPanelVectors], delta[kPanelVectors];
  for (int v = 0; v < kPanelVectors; ++v) {
    maximum[v] = load(scratch.maximum + i + v * kLanes<T>);
    scale[v] = load(scratch.scale + i + v * kLanes<T>);
    delta[v] = load(scratch.delta + i + v * kLanes<T>);
  }
  T* const weights = scratch.weights + i;
  T* const d_scores = scratch.d_scores + i;
  index_t j = 0;
  while (j < keys) {
    T* const row = weights + j * kQueryBlock;
    T* const d_row = d_scores + j * kQueryBlock;
    if ((key + j) % 2 == 0 && j + 2 <= keys) {
      differentiate<2>(key + j, drops, row, d_row, maximum, scale, delta);
      j += 2;
    } else {
      differentiate<1>(key + j, drops, row, d_row, maximum, scale, delta);
      j += 1;
    }
  }
}

/// Replaces S^T and dP^T by P^T and dS^T for `keys` keys from `key` on.
template <class T>
inline void differentiate_tile(const QueryBlock<T>& block, index_t key, index_t keys,
                               const BackwardScratch<T>& scratch) {
  const Dropout& dropout = block.args.dropout;
  if (dropout.threshold == 0) {
    for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
      differentiate_panel(i, key, keys, NoDropout<T>{}, scratch);
    }
    return;
  }
  const Survivors<T> survivors(block, key, keys);
  for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
    const PanelDropout<T> drops = {{survivors, i}, survivor_scale<T>(dropout)};
    differentiate_panel(i, key, keys, drops, scratch);
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
