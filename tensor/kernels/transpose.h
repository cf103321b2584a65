// Turning square blocks of a matrix in registers.
#pragma once

#include "tensor/kernels/simd.h"

namespace tessera::kernels::TESSERA_ISA {

template <int... kIndex>
struct Indices {};
template <int kCount, int... kIndex>
struct IndicesBelow : IndicesBelow<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct IndicesBelow<0, kIndex...> {
  using type = Indices<kIndex...>;
};

/// a and b in turns, element by element: the first half of each, or the second.
template <class V, int... kIndex>
[[gnu::always_inline]] inline V interleave_first(V a, V b, Indices<kIndex...>) {
  constexpr int kCount = sizeof...(kIndex);
  return __builtin_shufflevector(a, b, (kIndex / 2 + kIndex % 2 * kCount)...);
}

template <class V, int... kIndex>
[[gnu::always_inline]] inline V interleave_second(V a, V b, Indices<kIndex...>) {
  constexpr int kCount = sizeof...(kIndex);
  return __builtin_shufflevector(a, b, (kCount / 2 + kIndex / 2 + kIndex % 2 * kCount)...);
}

/// Rows to columns. Dealing the rows' elements out in turns, as one shuffles two halves of a pack
/// of cards, turns the block after log2(rows) rounds.
template <class T>
[[gnu::always_inline]] inline void transpose(Vec<T> (&rows)[kLanes<T>]) {
  constexpr int kCount = static_cast<int>(kLanes<T>);
  using Lanes = typename IndicesBelow<kCount>::type;
#pragma GCC unroll 4
  for (int round = 1; round < kCount; round *= 2) {
    Vec<T> dealt[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      dealt[2 * i] = interleave_first(rows[i], rows[i + kCount / 2], Lanes{});
      dealt[2 * i + 1] = interleave_second(rows[i], rows[i + kCount / 2], Lanes{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) rows[i] = dealt[i];
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
