// Panels of bfloat16: half the bytes of float32, for products that are limited by memory bandwidth.
//
// A bfloat16 is the upper half of a float32, so appending sixteen zero bits widens it exactly: a
// product of such panels has the bits of the float32 product with the rounded B. A row of a panel
// is two vectors of elements, stored in one vector of 32-bit words:
//
//     word i of row p   | element of column kLanes + i | element of column i |
//                        31                          16 15                  0
//
// A load, a shift and a mask give both vectors. The register tile repeats these steps whenever it
// reads the row: the steps cost little compared with the multiply-adds of a tile, and panels of
// half the size stay in the caches.
//
// **Source**: Kalamkar et al., "A Study of BFLOAT16 for Deep Learning Training", 2019.
#pragma once

#include "tensor/kernels/lockstep.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

static_assert(kPanelVectors == 2, "a word holds an element of each of a panel's vectors");

/// The two vectors of a panel's row, from its words.
inline Vectors<float, kPanelVectors> widen(BitsVec<float> words) {
  constexpr std::uint32_t kUpper = 0xffff0000U;
  return {reinterpret_cast<Vec<float>>(words << 16),
          reinterpret_cast<Vec<float>>(words & broadcast(kUpper))};
}

/// Panels that begin `panel_step` words apart: those of a product, or those that a tile reads. A
/// must be in strips, whose broadcasts take the fewest instructions and so leave the most for
/// widening.
struct BFloat16Panels {
  static constexpr bool kNarrowLast = false;  // padded with zeros

  const std::uint32_t* data;
  index_t panel_step;

  void take_share(index_t, index_t, index_t) {}  // prefetched by multiply_source
};

/// As source_of for Panels (tile.h).
inline BFloat16Panels source_of(const BFloat16Panels& b, index_t j, index_t) {
  return {b.data + j / kPanel<float> * b.panel_step, b.panel_step};
}

/// The prefetch distance in cache lines. A step of k reads one line of a panel, too slowly for the
/// hardware prefetcher to run far ahead.
inline constexpr index_t kLinesAhead = 32;

/// As multiply_source for a TileSource (tile.h).
template <int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_source(index_t k, const Strip<float>& a,
                                                   const BFloat16Panels& source,
                                                   Vec<float> (&sum)[kRows][kVectors]) {
  const auto [b, panel_step] = source;
#pragma GCC unroll 4
  for (index_t p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v += kPanelVectors) {
      prefetch(b, v / kPanelVectors * panel_step + (p + kLinesAhead) * kLanes<float>);
    }
    Vec<float> bp[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; v += kPanelVectors) {
      const auto row = widen(load(b + v / kPanelVectors * panel_step + p * kLanes<float>));
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

/// compute_rows, compiled once for all instances of multiply_block: inlined into each it is slower.
[[gnu::noinline]] inline void compute_rows(index_t rows, bool wide, index_t k,
                                           const Strip<float>& a, const BFloat16Panels& source,
                                           const TileTarget<float>& out) {
  compute_rows<float, kTileRows>(rows, wide, k, a, source, out);
}

}  // namespace tessera::kernels::TESSERA_ISA
