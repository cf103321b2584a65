// Transposing square blocks of a matrix in registers.
#pragma once

#include "tessera/tensor/kernels/simd.h"

namespace tessera::kernels::TESSERA_ISA {

template <int... kIndex>
struct Indices {};
template <int kCount, int... kIndex>
struct IndicesBelow : IndicesBelow<kCount - 1, kCount - 1, kIndex...> {};
template <int... kIndex>
struct IndicesBelow<0, kIndex...> {
  using type = Indices<kIndex...>;
};

/// Interleaves the elements of a and b: the first half of each, or the second.
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

/// Transposes a block. Each round interleaves the first half of the rows with the second half (a
/// perfect shuffle); log2(rows) rounds transpose the block.
template <class T>
[[gnu::always_inline]] inline void transpose(Vec<T> (&rows)[kLanes<T>]) {
  constexpr int kCount = static_cast<int>(kLanes<T>);
  using Lanes = typename IndicesBelow<kCount>::type;
#pragma GCC unroll 4
  for (int round = 1; round < kCount; round *= 2) {
    Vec<T> shuffled[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      shuffled[2 * i] = interleave_first(rows[i], rows[i + kCount / 2], Lanes{});
      shuffled[2 * i + 1] = interleave_second(rows[i], rows[i + kCount / 2], Lanes{});
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) rows[i] = shuffled[i];
  }
}

/// Loads a block of a matrix, transposed: element (i, j) of the matrix at `from`, whose rows are
/// `stride` apart, becomes lane i of block[j]. Missing elements are 0; there are at most kLanes
/// rows and columns.
template <class T>
[[gnu::always_inline]] inline void load_transposed(const T* from, index_t stride, index_t rows,
                                                   index_t columns, Vec<T> (&block)[kLanes<T>]) {
  for (index_t i = 0; i < kLanes<T>; ++i) {
    block[i] = i < rows ? load_some(from + i * stride, columns) : Vec<T>{};
  }
  transpose<T>(block);
}

/// to[j * to_stride + i] = from[i * stride + j] for i < rows, j < columns. kLanes rows are read to
/// their end before the next ones: if rows are pages apart, caches keep few of them.
template <class T>
inline void copy_transposed(const T* from, index_t stride, index_t rows, index_t columns, T* to,
                            index_t to_stride) {
  for (index_t i = 0; i < rows; i += kLanes<T>) {
    const index_t height = rows - i < kLanes<T> ? rows - i : kLanes<T>;
    for (index_t j = 0; j < columns; j += kLanes<T>) {
      const index_t width = columns - j < kLanes<T> ? columns - j : kLanes<T>;
      Vec<T> block[kLanes<T>];
      load_transposed(from + i * stride + j, stride, height, width, block);
      for (index_t r = 0; r < width; ++r)
        store_some(to + (j + r) * to_stride + i, block[r], height);
    }
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
