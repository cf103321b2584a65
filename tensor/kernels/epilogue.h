// The epilogue of a product, which runs while C is in the caches: activation and residual tile by
// tile, the rotation of complete heads, and the gate of gated products.
//
// If the product is not gated, the sums are in C, with the bias added. The epilogue does not depend
// on how the sums were computed. Gated products have their own panels of B: see pack_gated_panels.
#pragma once

#include "tessera/tensor/kernels/elementwise.h"
#include "tessera/tensor/kernels/rotary.h"
#include "tessera/tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

/// The activation of each element, with the bits of the elementwise kernel of the same function.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> activate(Activation activation,
                                                          const Vectors<T, kCount>& x) {
  using V = Vec<T>;
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return each([](V v) { return relu(v); }, x);
    case Activation::kGelu:
      return gelu_erf(x);
    case Activation::kGeluTanh:
      return each([](V v) { return gelu_tanh(v); }, x);
    case Activation::kSilu:
      return each([](V v) { return silu(v); }, x);
  }
  return x;
}

/// dy times the activation's slope at x.
template <class T, int kCount>
[[gnu::always_inline]] inline Vectors<T, kCount> activation_gradient(Activation activation,
                                                                     const Vectors<T, kCount>& x,
                                                                     const Vectors<T, kCount>& dy) {
  using V = Vec<T>;
  const auto times = [](V slope, V d) { return d * slope; };
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:  // propagates NaN
      return each([](V v, V d) { return v <= T{0} ? V{} : d; }, x, dy);
    case Activation::kGelu:
      return each(times, gelu_erf_slope(x), dy);
    case Activation::kGeluTanh:
      return each([](V v, V d) { return d * gelu_tanh_slope(v); }, x, dy);
    case Activation::kSilu:
      return each([](V v, V d) { return d * silu_slope(v); }, x, dy);
  }
  return dy;
}

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

// A gated product: C = activation(A B1 + b1) o (A B2 + b2), B = [B1 | B2], bias = [b1 | b2].
//
// One register tile computes both sums of an element of C: the first vector of a panel holds
// columns of B1, the second the same columns of B2.
//
//        a panel of B, packed
//      k | b1 b1 b1 b1 | b2 b2 b2 b2 |
//        +-------------+-------------+
//   a -> |  u  u  u  u |  g  g  g  g |   ->   C's columns: activation(u) g
//
// A tile is stored in a buffer of a few cache lines, which stay in L1; activation and elementwise
// product read this buffer and write C. So A B, twice as wide as C, is never in memory, unless the
// backward pass needs it. The sums of a tile must be complete, so k is not divided into blocks.
//
// **Source**: Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017; Shazeer,
// "GLU Variants Improve Transformer", 2020, section 2.

/// Packs rows [0, k) of B's columns [j, j + n) and [gate + j, gate + j + n) into gated panels.
template <class T>
inline void pack_gated_panels(MatrixRef<T> b, index_t gate, index_t k, index_t j, index_t n,
                              T* panels) {
  for (index_t done = 0; done < n; done += kLanes<T>) {
    const index_t columns = at_most(n - done, kLanes<T>);
    T* const panel = panels + kPanelVectors * done * k;
    pack_columns(b.at(0, j + done), k, columns, kLanes<T>, panel);
    pack_columns(b.at(0, gate + j + done), k, columns, kLanes<T>, panel + kLanes<T>);
  }
}

/// The buffer of an unfinished tile, the same for all tiles; its rows are as wide as the tile.
template <class T>
struct TileScratch {
  T* tile;
  index_t columns;  // of the chunk, in whole panels
};

/// The number of elements of the largest tile.
template <class T>
inline constexpr index_t kTileElements = kTileRows* kPanel<T>;
static_assert(kTileRows >= tile_panels(1) && kTileRows >= 3 * tile_panels(3));

template <class T>
inline TileTarget<T> tile_of(const TileScratch<T>& out, index_t, index_t, index_t columns) {
  return {out.tile, columns, columns, false};
}

/// The panels of a tile, below or next to each other: the address of the first one, and the strides
/// between them.
template <class T>
struct GatedPanels {
  const T* tile;  // one panel follows the other
  T* c;
  index_t c_step;
  T* halves;  // null: not requested
  index_t halves_step;
  index_t column, column_step;  // of C
};

/// Applies the epilogue to kCount panels, from panel `first` on, of a product whose C has n
/// columns.
template <int kCount, class T>
[[gnu::always_inline]] inline void finish_panels(const Epilogue<T>& epilogue, index_t n,
                                                 const GatedPanels<T>& panels, index_t first) {
  const auto column = [&](int i) { return panels.column + (first + i) * panels.column_step; };
  const auto width = [&](int i) { return at_most(n - column(i), kLanes<T>); };
  Vectors<T, kCount> half[2];
#pragma GCC unroll 2
  for (index_t h = 0; h < 2; ++h) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      half[h].at[i] = load(panels.tile + (first + i) * kPanel<T> + h * kLanes<T>);
    }
    if (epilogue.bias != nullptr) {
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        half[h].at[i] += load_some(epilogue.bias + h * n + column(i), width(i));
      }
    }
    if (panels.halves != nullptr) {
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        T* const to = panels.halves + (first + i) * panels.halves_step + h * n;
        store_some(to, half[h].at[i], width(i));
      }
    }
  }
  const auto times = [](Vec<T> a, Vec<T> g) { return a * g; };
  const auto y = each(times, activate(epilogue.function, half[0]), half[1]);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    store_some(panels.c + (first + i) * panels.c_step, y.at[i], width(i));
  }
}

template <class T>
inline void finish_panels(const Epilogue<T>& epilogue, index_t n, const GatedPanels<T>& panels,
                          index_t count) {
  index_t done = 0;
  for (; done + kInLockstep <= count; done += kInLockstep) {
    finish_panels<kInLockstep>(epilogue, n, panels, done);
  }
  for (; done + 2 <= count; done += 2) finish_panels<2>(epilogue, n, panels, done);
  if (done < count) finish_panels<1>(epilogue, n, panels, done);
}

/// Applies the epilogue to a tile of `rows` rows and `columns` columns of A B, for row i and column
/// j of C.
template <class T>
[[gnu::noinline]] void finish_gated_tile(const GemmArgs<T>& args, const T* tile, index_t i,
                                         index_t j, index_t rows, index_t columns) {
  const Epilogue<T>& epilogue = args.epilogue;
  const index_t n = args.n;
  T* const to = args.c + i * args.c_row + j;
  T* const all = epilogue.z;
  T* const halves = all == nullptr ? nullptr : all + 2 * i * n + j;
  if (columns == kPanel<T>) {
    return finish_panels(epilogue, n, {tile, to, args.c_row, halves, 2 * n, j, 0}, rows);
  }
  for (index_t r = 0; r < rows; ++r) {  // few rows of several panels
    T* const kept = halves == nullptr ? nullptr : halves + 2 * r * n;
    const GatedPanels<T> panels = {
        tile + r * columns, to + r * args.c_row, kLanes<T>, kept, kLanes<T>, j, kLanes<T>};
    finish_panels(epilogue, n, panels, columns / kPanel<T>);
  }
}

/// The gradient dz = [du | dg] for one row y = activation(u) g at z = [u | g]:
///
///     du = dy g activation'(u)        dg = dy activation(u)
template <class T>
void gated_gradient(Activation activation, index_t n, const T* z, const T* dy, T* dz) noexcept {
  const auto times = [](Vec<T> a, Vec<T> b) { return a * b; };
  const auto du = [&](const auto& u, const auto& g, const auto& d) {
    return activation_gradient(activation, u, each(times, d, g));
  };
  const auto dg = [&](const auto& u, const auto& d) {
    return each(times, d, activate(activation, u));
  };
  for_each_block<T>(n, [&](index_t begin, index_t count) {
    const T* const u = z + begin;
    map_block<kInLockstep>(count, dz + begin, du, u, u + n, dy + begin);
    map_block<kInLockstep>(count, dz + n + begin, dg, u, dy + begin);
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
