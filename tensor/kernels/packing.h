// The layout of a product's operands: in place, or packed for the register tile of tile.h, B into
// panels of columns and A into strips of rows.
#pragma once

#include "tessera/tensor/kernels/product_args.h"
#include "tessera/tensor/kernels/simd.h"
#include "tessera/tensor/kernels/transpose.h"

namespace tessera::kernels::TESSERA_ISA {

// A tile of C: kTileRows rows by one panel of kPanelVectors vectors, which fill the registers.
inline constexpr int kTileRows = kVectorRegisters == 32 ? 12 : 6;
template <class T>
inline constexpr index_t kPanel = kPanelVectors* kLanes<T>;

/// The number of rows of the next panel that the tiles of a panel prefetch together.
inline constexpr index_t kFetchedRows = 16;

/// B divided into panels of kPanel columns; for a tile, from the panel on that the tile reads. Full
/// panels start `panel_step` apart; the last, if it is narrower, is at `tail`, padded with zeros.
/// Rows of a panel are `row_step` apart.
///
/// For layouts that the hardware prefetcher does not predict, each step of k also prefetches the
/// line `ahead` elements further on, if `ahead` is not 0. For panels that exceed L1 over all of k,
/// the tiles that read a panel share the prefetching of the `next` one into L2, if `fetches_next`:
/// of each kFetchedRows rows, a tile prefetches [share, share_end).
template <class T>
struct Panels {
  // Whether a narrow last panel is a separate case: here it may have its own place, and one vector
  // may be enough for it.
  static constexpr bool kNarrowLast = true;

  const T* data;
  index_t panel_step, row_step;
  index_t ahead = 0;
  const T* next = nullptr;  // of a tile's first panel; null: not prefetched
  index_t share = 0, share_end = 0;
  const T* tail = nullptr;
  index_t tail_row_step = 0;
  bool fetches_next = false;

  /// The panels from column j on, of n columns; a panel begins at j.
  Panels from(index_t j, index_t n) const {
    Panels rest = {data + j / kPanel<T> * panel_step, panel_step, row_step, ahead};
    if (fetches_next && j + kPanel<T> < n) rest.next = rest.data + panel_step;
    return rest;
  }
  /// Sets the share of the tile of rows [i, end) of m.
  void take_share(index_t i, index_t end, index_t m) {
    if (next == nullptr) return;
    share = i * kFetchedRows / m;
    share_end = end * kFetchedRows / m;
  }
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

/// Copies rows [0, k) of kCount adjacent panels of B: one row of all panels, then the next row,
/// which may be in another page.
template <int kCount, class T>
inline void pack_full_panels(MatrixRef<T> b, index_t k, T* panels) {
  for (index_t p = 0; p < k; ++p) {
    const T* const from = b.data + p * b.row;
    for (int v = 0; v < kCount * kPanelVectors; ++v) {
      T* const panel = panels + v / kPanelVectors * k * kPanel<T>;
      store(panel + p * kPanel<T> + v % kPanelVectors * kLanes<T>, load(from + v * kLanes<T>));
    }
  }
}

/// Copies rows [0, k) and columns [0, n) of B into the first `width` columns of a panel, padded
/// with zeros. An ordinary weight is packed by copy_transposed, not by pack_full_panels: B is the
/// weight's transpose, so b.row is 1.
template <class T>
inline void pack_columns(MatrixRef<T> b, index_t k, index_t n, index_t width, T* panel) {
  if (b.row == 1) {
    copy_transposed(b.data, b.col, n, k, panel, kPanel<T>);
  } else {
    for (index_t p = 0; p < k; ++p) {
      for (index_t j = 0; j < n; ++j) panel[p * kPanel<T> + j] = b.data[p * b.row + j * b.col];
    }
  }
  for (index_t p = 0; p < k; ++p) {
    for (index_t j = n; j < width; ++j) panel[p * kPanel<T> + j] = T{0};
  }
}

/// Copies rows [0, k) and columns [0, n) of B, n <= kPanel, into one panel padded with zeros.
template <class T>
inline void pack_panel(MatrixRef<T> b, index_t k, index_t n, T* panel) {
  if (b.col == 1 && n == kPanel<T>) return pack_full_panels<1>(b, k, panel);
  pack_columns(b, k, n, kPanel<T>, panel);
}

/// Copies rows [0, k) and columns [0, n) of B into adjacent panels.
template <class T>
inline void pack_panels(MatrixRef<T> b, index_t k, index_t n, T* panels) {
  constexpr int kTogether = 4;
  index_t j = 0;
  if (b.col == 1) {
    for (; j + kTogether * kPanel<T> <= n; j += kTogether * kPanel<T>) {
      pack_full_panels<kTogether>(b.at(0, j), k, panels + j * k);
    }
  }
  for (; j < n; j += kPanel<T>) {
    pack_panel(b.at(0, j), k, at_most(n - j, kPanel<T>), panels + j * k);
  }
}

/// The number of rows of the next tile if `left` rows remain: kTileRows, except that the last two
/// tiles share their rows evenly. The packing and the reading of strips both use this function.
inline index_t next_rows(index_t left) {
  if (left >= 2 * kTileRows || left == kTileRows) return kTileRows;
  return left > kTileRows ? (left + 1) / 2 : left;
}

/// Packs a tile's rows of A in the order in which its steps of k broadcast them: element (r, p)
/// goes to strip[p * rows + r]. Whole vectors are stored, and the next ones overwrite their excess:
/// `strip` must have room for kLanes more elements.
template <class T>
inline void pack_strip(MatrixRef<T> a, index_t rows, index_t k, T* strip) {
  constexpr index_t kBlocks = (kTileRows + kLanes<T> - 1) / kLanes<T>;
  for (index_t p = 0; p < k; p += kLanes<T>) {
    const index_t steps = at_most(k - p, kLanes<T>);
    Vec<T> blocks[kBlocks][kLanes<T>];
    for (index_t b = 0; b < kBlocks; ++b) {
      const T* const from = a.data + b * kLanes<T> * a.row + p;
      const index_t height = at_most(rows - b * kLanes<T>, kLanes<T>);
      load_transposed(from, a.row, height, steps, blocks[b]);
    }
    for (index_t step = 0; step < steps; ++step) {
      for (index_t b = 0; b * kLanes<T> < rows; ++b) {
        store(strip + (p + step) * rows + b * kLanes<T>, blocks[b][step]);
      }
    }
  }
}

/// A (m, k), its columns or its rows contiguous, as strips.
template <class T>
inline void pack_strips(MatrixRef<T> a, index_t m, index_t k, T* strips) {
  index_t rows = 0;
  if (a.col == 1) {
    for (index_t i = 0; i < m; i += rows) {
      rows = next_rows(m - i);
      pack_strip(a.at(i, 0), rows, k, strips + i * k);
    }
  } else {  // a step of k is contiguous, but the next one may be pages away
    for (index_t p = 0; p < k; ++p) {
      for (index_t i = 0; i < m; i += rows) {
        rows = next_rows(m - i);
        for (index_t r = 0; r < rows; r += kLanes<T>) {
          const index_t count = at_most(rows - r, kLanes<T>);
          const Vec<T> v = load_some(a.data + p * a.col + i + r, count);
          T* const to = strips + i * k + p * rows + r;
          // The excess of a vector is overwritten by this strip's next step; after the last step it
          // would overwrite the next strip, whose first steps are already stored.
          if (p * rows + r + kLanes<T> <= k * rows) {
            store(to, v);
          } else {
            store_some(to, v, count);
          }
        }
      }
    }
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
