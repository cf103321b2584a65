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
#pragma once

#include "tensor/kernels/activation.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/product_args.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

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
