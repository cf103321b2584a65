// The register tile: the inner part of matrix multiplication, which gemm and attention share.
//
// C is cut into tiles of kTileRows rows by one panel (two vectors) of columns, held in registers
// while k runs. Each step of k loads two vectors of B and broadcasts one element of A per row:
//
//        B panel, packed         registers, AVX2: 6 x 2 accumulators, 2 of B, 1 of A = 15 of 16
//      k | b b b b|b b b b |     registers, AVX-512: 12 x 2, 2 and 1 = 27 of 32
//        +--------+--------+
//   a -> | c c c c|c c c c |     A is read where it lies, with any strides, one element per row;
//   a -> | c c c c|c c c c |     B is packed into panels, whose rows follow each other
//
// **The same bits.** C[i][j] is one chain of fused multiply-adds in the order of k: it starts at 0
// (or at the C that is accumulated into) and passes through memory unchanged from one call to the
// next. No lane or tile boundary ever cuts it.
#pragma once

#include "tensor/kernels/simd.h"
#include "tensor/kernels/transpose.h"

namespace tessera::kernels::TESSERA_ISA {

inline constexpr int kTileRows = kVectorRegisters == 32 ? 12 : 6;
inline constexpr int kTileVectors = 2;
template <class T>
inline constexpr index_t kPanel = kTileVectors* kLanes<T>;

/// A read-only matrix with any strides.
template <class T>
struct MatrixRef {
  const T* data;
  index_t row, col;

  MatrixRef at(index_t i, index_t j) const { return {data + i * row + j * col, row, col}; }
};

/// B cut into panels of kPanel columns. Full panels start `panel_step` apart; the last, if it is
/// narrower, is a copy padded with zeros at `tail`. Rows of a panel are `row_step` apart.
///
/// For layouts that the hardware's prefetcher does not predict, each step of k also prefetches the
/// line `ahead` elements further on, if that is not 0; and for panels that outgrow L1, the tiles
/// beside a panel share the prefetching of the next one into L2, if `fetches_next`.
template <class T>
struct Panels {
  const T* data;
  index_t panel_step, row_step;
  const T* tail;
  index_t tail_row_step;
  index_t ahead = 0;
  bool fetches_next = false;
};

inline index_t ceil_div(index_t a, index_t b) {
  return (a + b - 1) / b;
}

inline index_t round_up(index_t a, index_t multiple) {
  return ceil_div(a, multiple) * multiple;
}

inline index_t at_most(index_t a, index_t limit) {
  return a < limit ? a : limit;
}

inline index_t at_least(index_t a, index_t limit) {
  return a > limit ? a : limit;
}

/// Copies rows [0, k) and columns [0, n) of B, n <= kPanel, into one panel padded with zeros.
template <class T>
inline void pack_panel(MatrixRef<T> b, index_t k, index_t n, T* panel) {
  if (b.col == 1 && n == kPanel<T>) {
    for (index_t p = 0; p < k; ++p) {
      for (int v = 0; v < kTileVectors; ++v) {
        store(panel + p * kPanel<T> + v * kLanes<T>, load(b.data + p * b.row + v * kLanes<T>));
      }
    }
    return;
  }
  if (b.row == 1) {
    copy_transposed(b.data, b.col, n, k, panel, kPanel<T>);
  } else {
    for (index_t p = 0; p < k; ++p) {
      for (index_t j = 0; j < n; ++j) panel[p * kPanel<T> + j] = b.data[p * b.row + j * b.col];
    }
  }
  for (index_t p = 0; p < k; ++p) {
    for (index_t j = n; j < kPanel<T>; ++j) panel[p * kPanel<T> + j] = T{0};
  }
}

/// Copies rows [0, k) and columns [0, n) of B into panels that follow each other.
template <class T>
inline void pack_panels(MatrixRef<T> b, index_t k, index_t n, T* panels) {
  for (index_t j = 0; j < n; j += kPanel<T>) {
    pack_panel(b.at(0, j), k, at_most(n - j, kPanel<T>), panels + j * k);
  }
}

/// The panels a tile of `rows` rows takes side by side. One is enough where rows make at least
/// eight chains of multiply-adds, which hide their latency; fewer rows take more panels.
constexpr int tile_panels(int rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

/// The panels of B beside a tile, as in Panels, and where its share of the next panel starts.
template <class T>
struct TileSource {
  const T* b;
  index_t panel_step, row_step, ahead;
  const T* next = nullptr;
};

/// This many tiles share a panel's prefetching: each takes one row in so many.
inline constexpr index_t kPrefetchers = 16;

/// A tile of C: sum[r][v] (+)= the product of kRows rows of A and kVectors vectors of B over k.
template <bool kLooksAhead, class T, int kRows, int kVectors>
inline void multiply_steps(index_t k, MatrixRef<T> a, TileSource<T> source,
                           Vec<T> (&sum)[kRows][kVectors]) {
  const auto [b, panel_step, row_step, ahead, next] = source;
  for (index_t p = 0; p < k; ++p) {
#pragma GCC unroll 4
    for (int v = 0; kLooksAhead && v < kVectors; v += kTileVectors) {
      prefetch(b, v / kTileVectors * panel_step + p * row_step + ahead);
    }
    Vec<T> bp[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      bp[v] = load(b + v / kTileVectors * panel_step + p * row_step + v % kTileVectors * kLanes<T>);
    }
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec<T> ar = broadcast(a.data[r * a.row + p * a.col]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] += ar * bp[v];
    }
  }
}

template <class T, int kRows, int kVectors>
inline void multiply_tile(index_t k, MatrixRef<T> a, TileSource<T> source,
                          Vec<T> (&sum)[kRows][kVectors]) {
  if (source.ahead != 0) {
    multiply_steps<true>(k, a, source, sum);
  } else if (source.next == nullptr) {
    multiply_steps<false>(k, a, source, sum);
  } else {
    const T* const first = source.b;
    for (index_t p = 0; p < k; p += kPrefetchers) {
      prefetch<Fetch::kForL2>(source.next, p * source.row_step);
      source.b = first + p * source.row_step;
      multiply_steps<false>(at_most(k - p, kPrefetchers), a.at(0, p), source, sum);
    }
  }
}

/// Where a tile goes: C's first element, and how many of the tile's columns exist.
template <class T>
struct TileTarget {
  T* c;
  index_t c_row;
  index_t columns;
  bool accumulate;
};

// By reference: passed by value, a struct is copied by vectors as soon as its numbers are written,
// and such a load waits until the tile before has left the store buffer for memory.
template <class T, int kRows, int kPanels>
inline void compute_tile(index_t k, const MatrixRef<T>& a, const TileSource<T>& source,
                         const TileTarget<T>& out) {
  constexpr int kVectors = kPanels * kTileVectors;
  const bool full = out.columns == kVectors * kLanes<T>;
  const auto width = [&](int v) {
    const index_t left = out.columns - v * kLanes<T>;
    return left < 0 ? 0 : at_most(left, kLanes<T>);
  };
  Vec<T> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const T* from = out.c + r * out.c_row + v * kLanes<T>;
      sum[r][v] = !out.accumulate ? Vec<T>{} : full ? load(from) : load_partial(from, width(v));
    }
  }
  multiply_tile(k, a, source, sum);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      T* to = out.c + r * out.c_row + v * kLanes<T>;
      if (full) {
        store(to, sum[r][v]);
      } else {
        store_partial(to, sum[r][v], width(v));
      }
    }
  }
}

/// compute_tile for a number of rows known at run time, on one panel or on tile_panels(rows).
template <class T, int kRows = kTileRows>
inline void compute_rows(index_t rows, bool wide, index_t k, const MatrixRef<T>& a,
                         const TileSource<T>& source, const TileTarget<T>& out) {
  if constexpr (kRows > 0) {
    if (rows != kRows) {
      return compute_rows<T, kRows - 1>(rows, wide, k, a, source, out);
    }
    if (wide) {
      compute_tile<T, kRows, tile_panels(kRows)>(k, a, source, out);
    } else {
      compute_tile<T, kRows, 1>(k, a, source, out);
    }
  }
}

/// The rows of the next tile where `left` are to do: all that fit, but the last two tiles share.
inline index_t next_rows(index_t left) {
  if (left >= 2 * kTileRows || left == kTileRows) return kTileRows;
  return left > kTileRows ? (left + 1) / 2 : left;
}

/// C (m, n) (+)= A (m, k) B (k, n), in the calling thread and without cutting k: the part that gemm
/// and attention share. Calls `finish(i, j, rows, columns)` on each tile that is stored, while it
/// is still in L1.
template <class T, class Finish>
inline void multiply_block(index_t m, index_t n, index_t k, MatrixRef<T> a, Panels<T> b, T* c,
                           index_t c_row, bool accumulate, const Finish& finish) {
  const index_t wide_columns = m <= 3 ? tile_panels(static_cast<int>(m)) * kPanel<T> : kPanel<T>;
  index_t columns = 0;
  for (index_t j = 0; j < n; j += columns) {
    const bool wide = wide_columns > kPanel<T> && n - j >= wide_columns;
    columns = wide ? wide_columns : at_most(n - j, kPanel<T>);
    const bool in_tail = columns < kPanel<T>;
    TileSource<T> source = {b.data + j / kPanel<T> * b.panel_step, b.panel_step, b.row_step,
                            b.ahead};
    if (in_tail) source = {b.tail, 0, b.tail_row_step, 0};
    const bool fetches_next = b.fetches_next && j + kPanel<T> < n;
    index_t rows = 0;
    for (index_t i = 0; i < m; i += rows) {
      rows = next_rows(m - i);
      if (fetches_next) {
        const index_t share = i / kTileRows % kPrefetchers;
        source.next = source.b + source.panel_step + share * source.row_step;
      }
      compute_rows(rows, wide, k, a.at(i, 0), source,
                   TileTarget<T>{c + i * c_row + j, c_row, columns, accumulate});
      finish(i, j, rows, columns);
    }
  }
}

template <class T>
inline void multiply_block(index_t m, index_t n, index_t k, MatrixRef<T> a, Panels<T> b, T* c,
                           index_t c_row, bool accumulate) {
  multiply_block(m, n, k, a, b, c, c_row, accumulate, [](index_t, index_t, index_t, index_t) {});
}

}  // namespace tessera::kernels::TESSERA_ISA
