// The register tile: the inner part of matrix multiplication, shared by gemm and attention.
//
// C is cut into tiles of kTileRows rows by one panel (two vectors) of columns, held in registers
// while k runs. Each step of k loads two vectors of B and broadcasts one element of A per row:
//
//        B panel, packed         registers, AVX2: 6 x 2 accumulators, 2 of B, 1 of A = 15 of 16
//      k | b b b b|b b b b |     registers, AVX-512: 12 x 2, 2 and 1 = 27 of 32
//        +--------+--------+
//   a -> | c c c c|c c c c |     A is read in place, with any strides, or from strips;
//   a -> | c c c c|c c c c |     B in panels, packed or in place
//
// **Reproducibility.** C[i][j] is one chain of multiply-adds in the order of k, fused except on the
// x86-64 baseline: it starts at 0 (or at the C that is accumulated into) and passes through memory
// unchanged from one call to the next. Lane and tile boundaries do not divide the chain.
#pragma once

#include "tessera/tensor/kernels/packing.h"

namespace tessera::kernels::TESSERA_ISA {

/// The number of adjacent panels that a tile of `rows` rows reads. One is enough if the rows make
/// at least eight chains of multiply-adds, which hide their latency; fewer rows take more panels.
constexpr index_t tile_panels(index_t rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

/// A tile of C: sum[r][v] (+)= the product of kRows rows of A and kVectors vectors of B over k.
///
/// With known strides and four steps at a time, a step takes 21 instructions on AVX2 instead of 24,
/// and 12 of them multiply. This matters if another thread uses half of the core's issue slots.
template <bool kLooksAhead, class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_steps(index_t k, MatrixRef<T> a, Panels<T> panels,
                                                  Vec<T> (&sum)[kRows][kVectors]) {
  const T* const b = panels.data;
  const index_t panel_step = panels.panel_step;
  const index_t row_step = panels.row_step;
#pragma GCC unroll 4
  for (index_t p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int v = 0; kLooksAhead && v < kVectors; v += kPanelVectors) {
      prefetch(b, v / kPanelVectors * panel_step + p * row_step + panels.ahead);
    }
    Vec<T> bp[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      bp[v] =
          load(b + v / kPanelVectors * panel_step + p * row_step + v % kPanelVectors * kLanes<T>);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec<T> ar = broadcast(a.data[r * a.row + p * a.col]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] += ar * bp[v];
    }
  }
}

/// Prefetches a tile's share of the next panel's rows [p, p + kFetchedRows).
template <class T>
[[gnu::always_inline]] inline void prefetch_share(const Panels<T>& b, index_t p) {
  constexpr index_t kLine = 64 / static_cast<index_t>(sizeof(T));
  for (index_t row = p + b.share; row < p + b.share_end; ++row) {
    for (index_t line = 0; line < kPanel<T>; line += kLine) {
      prefetch<Fetch::kForL2>(b.next, row * b.row_step + line);
    }
  }
}

/// All steps of a tile, with prefetching: a line ahead in each step, or the tile's share of the
/// next panel in every sixteenth.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_tile(index_t k, MatrixRef<T> a, Panels<T> b,
                                                 Vec<T> (&sum)[kRows][kVectors]) {
  if (b.ahead != 0) return multiply_steps<true>(k, a, b, sum);
  const T* const first = b.data;
  const index_t steps = b.next == nullptr ? k : kFetchedRows;
  for (index_t p = 0; p < k; p += steps) {
    if (b.next != nullptr) prefetch_share(b, p);
    b.data = first + p * b.row_step;
    multiply_steps<false>(at_most(k - p, steps), a.at(0, p), b, sum);
  }
}

/// The destination of a tile: C's first element, the number of valid columns, and the bias that is
/// added to each row once the chains are complete.
template <class T>
struct TileTarget {
  T* c;
  index_t c_row;
  index_t columns;
  bool accumulate;
  const T* bias = nullptr;
  bool streams = false;  // full tiles are written by non-temporal stores

  /// The number of valid columns in vector v of the tile.
  [[gnu::always_inline]] index_t width(int v) const {
    const index_t left = columns - v * kLanes<T>;
    return left < 0 ? 0 : at_most(left, kLanes<T>);
  }
};

/// A tile with fewer steps ends before prefetched lines arrive.
inline constexpr index_t kStepsWorthFetching = 128;

/// Prefetches the lines of C that a tile of kRows rows writes: stores that miss fill the store
/// buffer and stop the next tile. A tile that adds to C loads its own lines first, so it prefetches
/// those of the tile below; wide tiles have none.
template <int kRows, int kVectors, class T>
[[gnu::always_inline]] inline void prefetch_target(index_t k, const TileTarget<T>& out) {
  constexpr int kVectorsOfLine = 64 / kVectorBytes;
  if (k < kStepsWorthFetching || (out.accumulate && tile_panels(kRows) > 1)) return;
  const index_t first = out.accumulate ? kRows : 0;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; v += kVectorsOfLine) {
      prefetch<Fetch::kForWriting>(out.c, (first + r) * out.c_row + v * kLanes<T>);
    }
  }
}

/// multiply_tile. In float32, whose speed matters, it is compiled separately for B in rows without
/// gaps and A's elements adjacent along rows or, as in strips, along columns: their strides are then
/// constants.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_operands(index_t k, MatrixRef<T> a, Panels<T> b,
                                                     Vec<T> (&sum)[kRows][kVectors]) {
  const bool is_dense = sizeof(T) == sizeof(float) && b.row_step == kPanel<T>;
  if (is_dense && a.col == 1) {
    a.col = 1;
    b.row_step = kPanel<T>;
    multiply_tile(k, a, b, sum);
  } else if (is_dense && a.row == 1) {
    a.row = 1;
    b.row_step = kPanel<T>;
    multiply_tile(k, a, b, sum);
  } else {
    multiply_tile(k, a, b, sum);
  }
}

/// Adds the bias to a tile's sums and stores them.
template <class T, int kRows, int kVectors>
[[gnu::always_inline]] inline void store_tile(const TileTarget<T>& out,
                                              Vec<T> (&sum)[kRows][kVectors]) {
  const bool full = out.columns == kVectors * kLanes<T>;
  if (out.bias != nullptr) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const T* from = out.bias + v * kLanes<T>;
      const Vec<T> bias = full ? load(from) : load_partial(from, out.width(v));
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sum[r][v] += bias;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* to = out.c + r * out.c_row + v * kLanes<T>;
      if (full && out.streams) {
        stream(to, sum[r][v]);
      } else if (full) {
        store(to, sum[r][v]);
      } else {
        store_partial(to, sum[r][v], out.width(v));
      }
    }
  }
}

// One tile of C: zeroed or loaded, multiplied, bias added, stored. `A` and `B` are a MatrixRef and
// Panels; integers, whose sums are not Vec<T>, have their own types and their own compute_tile.
//
// Arguments come by reference: to pass a struct by value, the compiler copies it by vectors right
// after its numbers are written, and such a load waits until the stores of the previous tile have
// left the store buffer.
template <class T, int kRows, int kVectors, class A, class B>
inline void compute_tile(index_t k, const A& a, const B& b, const TileTarget<T>& out) {
  const bool full = out.columns == kVectors * kLanes<T>;
  prefetch_target<kRows, kVectors>(k, out);
  Vec<T> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const T* from = out.c + r * out.c_row + v * kLanes<T>;
      sum[r][v] = !out.accumulate ? Vec<T>{} : full ? load(from) : load_partial(from, out.width(v));
    }
  }
  multiply_operands(k, a, b, sum);
  store_tile(out, sum);
}

/// compute_tile for a number of rows known at run time, on one panel or on tile_panels(rows).
template <class T, int kRows = kTileRows, class A, class B>
inline void compute_rows(index_t rows, bool wide, index_t k, const A& a, const B& b,
                         const TileTarget<T>& out) {
  if constexpr (kRows > 0) {
    if (rows != kRows) {
      return compute_rows<T, kRows - 1>(rows, wide, k, a, b, out);
    }
    if (wide) {
      compute_tile<T, kRows, tile_panels(kRows) * kPanelVectors>(k, a, b, out);
    } else {
      compute_tile<T, kRows, kPanelVectors>(k, a, b, out);
    }
  }
}

/// The same on one vector, for a last panel with at most kLanes columns.
template <class T, int kRows = kTileRows>
inline void compute_narrow_rows(index_t rows, index_t k, const MatrixRef<T>& a, const Panels<T>& b,
                                const TileTarget<T>& out) {
  if constexpr (kRows > 0) {
    if (rows != kRows) return compute_narrow_rows<T, kRows - 1>(rows, k, a, b, out);
    compute_tile<T, kRows, 1>(k, a, b, out);
  }
}

/// `out` from row i and column j on, with `columns` columns.
template <class T>
inline TileTarget<T> tile_of(const TileTarget<T>& out, index_t i, index_t j, index_t columns) {
  return {out.c + i * out.c_row + j,
          out.c_row,
          columns,
          out.accumulate,
          out.bias == nullptr ? nullptr : out.bias + j,
          out.streams};
}

/// The last, narrower panel of multiply_block. In a function of its own, because one more case in
/// the loop of full panels would cost 3 to 10 %.
template <class T, class Finish>
[[gnu::noinline]] void multiply_tail(index_t m, index_t k, const MatrixRef<T>& a,
                                     const Panels<T>& b, const TileTarget<T>& panel,
                                     const Finish& finish) {
  index_t rows = 0;
  for (index_t i = 0; i < m; i += rows) {
    rows = next_rows(m - i);
    const TileTarget<T> out = tile_of(panel, i, 0, panel.columns);
    if (panel.columns <= kLanes<T>) {
      compute_narrow_rows(rows, k, a.tile(i, rows, k), b, out);
    } else {
      compute_rows(rows, false, k, a.tile(i, rows, k), b, out);
    }
    finish(i, rows);
  }
}

/// C (m, n) (+)= A (m, k) B (k, n) (+ bias) with n = `out.columns`, in the calling thread and
/// without dividing k: the part that gemm and attention share. Calls `finish(i, j, rows, columns)`
/// for each stored tile while it is still in L1.
///
/// `b` is Panels, and `a` a MatrixRef; integers have their own types, with the same kNarrowLast,
/// `from`, `take_share` and `tile`, and their own compute_rows, which is not inlined. `out` is a
/// TileTarget, or a different type with a tile_of for the position of a tile.
template <class A, template <class> class Target, class T, class B, class Finish>
inline void multiply_block(index_t m, index_t k, const A& a, const B& b, const Target<T>& out,
                           const Finish& finish) {
  const index_t n = out.columns;
  const index_t wide_columns = tile_panels(m) * kPanel<T>;
  index_t columns = 0;
  for (index_t j = 0; j < n; j += columns) {
    const bool wide = wide_columns > kPanel<T> && n - j >= wide_columns;
    columns = wide ? wide_columns : at_most(n - j, kPanel<T>);
    if constexpr (B::kNarrowLast) {
      if (columns < kPanel<T>) {
        multiply_tail(m, k, a, Panels<T>{b.tail, 0, b.tail_row_step}, tile_of(out, 0, j, columns),
                      [&](index_t i, index_t rows) { finish(i, j, rows, columns); });
        return;
      }
    }
    B panels = b.from(j, n);
    index_t rows = 0;
    for (index_t i = 0; i < m; i += rows) {
      rows = next_rows(m - i);
      panels.take_share(i, i + rows, m);
      compute_rows(rows, wide, k, a.tile(i, rows, k), panels, tile_of(out, i, j, columns));
      finish(i, j, rows, columns);
    }
  }
}

template <class T, class A, class B>
inline void multiply_block(index_t m, index_t k, const A& a, const B& b, const TileTarget<T>& out) {
  multiply_block(m, k, a, b, out, [](index_t, index_t, index_t, index_t) {});
}

}  // namespace tessera::kernels::TESSERA_ISA
