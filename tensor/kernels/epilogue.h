// The epilogue of a product, which runs while C is in the caches: activation and residual tile by
// tile, and the rotation of complete heads. The epilogue of gated products is in gated.h.
//
// The sums are in C, with the bias added; how they were computed makes no difference.
#pragma once

#include "tensor/kernels/activation.h"
#include "tensor/kernels/packing.h"
#include "tensor/kernels/rotary.h"

namespace tessera::kernels::TESSERA_ISA {

/// Whether the epilogue reads the sums, z, again.
template <class T>
inline bool reads_sums(const Epilogue<T>& end) {
  return end.function != Activation::kNone || end.residual != nullptr || end.z != nullptr;
}

/// finish_tile for kRows rows by one panel, of which `columns` columns exist.
template <int kRows, class T>
[[gnu::always_inline]] inline void finish_rows(const GemmArgs<T>& args, index_t i, index_t j,
                                               index_t columns) {
  const Epilogue<T>& end = args.epilogue;
  constexpr int kCount = kRows * kPanelVectors;
  const auto width = [&](int n) {
    return at_least(at_most(columns - n % kPanelVectors * kLanes<T>, kLanes<T>), 0);
  };
  const auto address = [&](auto* matrix, index_t row_step, int n) {
    return matrix + (i + n / kPanelVectors) * row_step + j + n % kPanelVectors * kLanes<T>;
  };
  Vectors<T, kCount> y;
#pragma GCC unroll 8
  for (int n = 0; n < kCount; ++n) y.at[n] = load_some(address(args.c, args.c_row, n), width(n));
  if (end.z != nullptr) {
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      store_some(address(end.z, args.c_row, n), y.at[n], width(n));
    }
  }
  y = activate(end.function, y);
  if (end.residual != nullptr) {
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      const T* const from = address(end.residual, end.residual_row, n);
      y.at[n] = y.at[n] + load_some(from, width(n));
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < kCount; ++n) store_some(address(args.c, args.c_row, n), y.at[n], width(n));
}

/// Activation and residual for a tile of C at (i, j).
template <class T>
inline void finish_tile(const GemmArgs<T>& args, index_t i, index_t j, index_t rows,
                        index_t columns) {
  constexpr int kRows = kInLockstep / kPanelVectors;
  for (index_t first = 0; first < columns; first += kPanel<T>) {
    const index_t left = columns - first;
    index_t r = 0;
    for (; left >= kPanel<T> && r + kRows <= rows; r += kRows) {
      finish_rows<kRows>(args, i + r, j + first, kPanel<T>);
    }
    for (; r < rows; ++r) finish_rows<1>(args, i + r, j + first, at_most(left, kPanel<T>));
  }
}

/// Rotates, in rows [i, i + m) of C, the heads whose last column is in [j, j + columns), while they
/// are still in the caches. No head is divided between threads (column_unit).
template <class T>
[[gnu::noinline]] void rotate_complete_heads(const GemmArgs<T>& args, index_t i, index_t m,
                                             index_t j, index_t columns) {
  const HeadRotation<T>& rotation = args.epilogue.rotation;
  const index_t width = rotation.width;
  const index_t first = j / width;
  const index_t end = at_most((j + columns) / width, rotation.heads);
  if (first >= end) return;
  T* const heads = args.c + first * width;
  const index_t sequence = rotation.tokens * args.c_row;
  RotaryArgs<T> part = {.rotation = rotation,
                        .x = {heads, sequence, width, args.c_row},
                        .y = {heads, sequence, width, args.c_row},
                        .first_row = i,
                        .rows = m};
  part.rotation.heads = end - first;
  rotary(part);
}

}  // namespace tessera::kernels::TESSERA_ISA
