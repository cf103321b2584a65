// Panels of bfloat16: half of float32's bytes, for products whose pace memory sets.
//
// A bfloat16 is the upper half of a float32, so appending sixteen zero bits widens it exactly: a
// product of such panels has the bits of a float32 product with the rounded B. The two vectors of
// a panel's row share the words of one:
//
//     word i of row p   | element of column kLanes + i | element of column i |
//                        31                          16 15                  0
//
// A load, a shift and a mask give both vectors, in the register tile and each time anew: beside a
// tile's multiply-adds that costs little, and panels of half the size stay in the caches.
#pragma once

#include "tensor/kernels/lockstep.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

static_assert(kTileVectors == 2, "a word holds an element of each of a panel's vectors");

/// Both vectors of a panel's row.
inline Vectors<float, kTileVectors> widen(BitsVec<float> words) {
  constexpr std::uint32_t kUpper = 0xffff0000U;
  return {reinterpret_cast<Vec<float>>(words << 16),
          reinterpret_cast<Vec<float>>(words & broadcast(kUpper))};
}

/// Panels `panel_step` words apart: of a whole product, or beside a tile.
struct HalfPanels {
  const std::uint32_t* data;
  index_t panel_step;
};

/// A step reads one line of a panel, too slowly for the hardware to fetch far ahead: so many lines
/// further on are prefetched.
inline constexpr index_t kLinesAhead = 32;

/// As of TileSource, A being a strip.
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_source(index_t k, const MatrixRef<float>& a,
                                                   const HalfPanels& source,
                                                   Vec<float> (&sum)[kRows][kVectors]) {
  const auto [b, panel_step] = source;
#pragma GCC unroll 4
  for (index_t p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v += kTileVectors) {
      prefetch(b, v / kTileVectors * panel_step + (p + kLinesAhead) * kLanes<float>);
    }
    Vec<float> bp[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v += kTileVectors) {
      const auto row = widen(load(b + v / kTileVectors * panel_step + p * kLanes<float>));
      bp[v] = row.at[0];
      bp[v + 1] = row.at[1];
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec<float> ar = broadcast(a.data[p * kRows + r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] += ar * bp[v];
    }
  }
}

/// compute_rows, once for all kinds of multiply_block.
[[gnu::noinline]] inline void compute_halves(index_t rows, bool wide, index_t k,
                                             const MatrixRef<float>& a, const HalfPanels& b,
                                             const TileTarget<float>& out) {
  compute_rows(rows, wide, k, a, b, out);
}

/// multiply_block of rows in strips. The last panel is whole too: zeros fill it.
template <class Target, class Finish>
inline void multiply_block(index_t m, index_t k, const TileRows<float>& a, const HalfPanels& b,
                           const Target& out, const Finish& finish) {
  const index_t wide_columns =
      m <= 3 ? tile_panels(static_cast<int>(m)) * kPanel<float> : kPanel<float>;
  index_t columns = 0;
  for (index_t j = 0; j < out.columns; j += columns) {
    const bool wide = wide_columns > kPanel<float> && out.columns - j >= wide_columns;
    columns = wide ? wide_columns : at_most(out.columns - j, kPanel<float>);
    const HalfPanels source = {b.data + j / kPanel<float> * b.panel_step, b.panel_step};
    index_t rows = 0;
    for (index_t i = 0; i < m; i += rows) {
      rows = next_rows(m - i);
      compute_halves(rows, wide, k, a.tile(i, rows, k), source, tile_of(out, i, j, columns));
      finish(i, j, rows, columns);
    }
  }
}

template <class Target>
inline void multiply_block(index_t m, index_t k, const TileRows<float>& a, const HalfPanels& b,
                           const Target& out) {
  multiply_block(m, k, a, b, out, [](index_t, index_t, index_t, index_t) {});
}

}  // namespace tessera::kernels::TESSERA_ISA
