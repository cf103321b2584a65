// Matrix multiplication.
//
// C is cut into register tiles: kTileRows rows by one panel (two vectors) of columns, held in
// registers while k runs. Each step of k loads two vectors of B and broadcasts one element of A per
// row:
//
//        B panel, packed         registers, AVX2: 6 x 2 accumulators, 2 of B, 1 of A = 15 of 16
//      k | b b b b|b b b b |     registers, AVX-512: 12 x 2, 2 and 1 = 27 of 32
//        +--------+--------+
//   a -> | c c c c|c c c c |     A is read where it lies, with any strides, one element per row;
//   a -> | c c c c|c c c c |     B is packed into panels, whose rows follow each other
//
// Around the tile: a block of k (kBlockK) whose B panel stays in the first cache, a block of rows
// (kBlockRows) whose part of A stays in the second, and tasks over rows and columns for the
// threads.
//
// **The same bits.** C[i][j] is one chain of fused multiply-adds in the order of k: it starts at 0
// (or at the C that is accumulated into), passes through memory unchanged between blocks of k, and
// no thread, lane or tile boundary ever cuts it.
//
// **Source**: the scheme is Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008, without the packing of A.
#pragma once

#include "tensor/kernels/math.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/simd.h"
#include "tensor/kernels/table.h"

namespace tessera::kernels::TESSERA_ISA {

inline constexpr int kTileRows = kVectorRegisters == 32 ? 12 : 6;
inline constexpr int kTileVectors = 2;
template <class T>
inline constexpr index_t kPanel = (kTileVectors * kLanes<T>);

// The blocks, in bytes of AVX2 (AVX-512): a panel of B over a block of k is 24 (32) KiB, which a
// first cache holds beside six (twelve) rows of A; 144 rows of A over it are 216 (144) KiB of a second
// cache of 512 KiB or more. Their sizes change no bit: a sum passes through memory unchanged.
inline constexpr index_t kBlockK = kVectorBytes == 64 ? 256 : 384;
inline constexpr index_t kBlockRows = 144;  // a multiple of either kTileRows

/// A read-only matrix with any strides.
template <class T>
struct MatrixRef {
  const T* data;
  index_t row, col;

  MatrixRef at(index_t i, index_t j) const { return {data + i * row + j * col, row, col}; }
};

/// B cut into panels of kPanel columns. Full panels start `panel_step` apart; the last, if it is
/// narrower, is a copy padded with zeros at `tail`. Rows of a panel are `row_step` apart.
template <class T>
struct Panels {
  const T* data;
  index_t panel_step, row_step;
  const T* tail;
  index_t tail_row_step;
};

inline index_t ceil_div(index_t a, index_t b) {
  return (a + b - 1) / b;
}

inline index_t at_most(index_t a, index_t limit) {
  return a < limit ? a : limit;
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
  for (index_t p = 0; p < k; ++p) {
    for (index_t j = 0; j < n; ++j) panel[p * kPanel<T> + j] = b.data[p * b.row + j * b.col];
    for (index_t j = n; j < kPanel<T>; ++j) panel[p * kPanel<T> + j] = T{0};
  }
}

/// The panels a tile of `rows` rows takes side by side. One is enough where rows make at least
/// eight chains of multiply-adds, which hide their latency; fewer rows take more panels.
constexpr int tile_panels(int rows) {
  return rows == 1 ? 4 : rows <= 3 ? 2 : 1;
}

/// A tile of C: sum[r][v] (+)= the product of kRows rows of A and kVectors vectors of B over k.
template <class T, int kRows, int kVectors>
inline void multiply_tile(index_t k, MatrixRef<T> a, const T* b, index_t panel_step,
                          index_t row_step, Vec<T> (&sum)[kRows][kVectors]) {
  for (index_t p = 0; p < k; ++p) {
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

/// Where a tile goes: C's first element, and how many of the tile's columns exist.
template <class T>
struct TileTarget {
  T* c;
  index_t c_row;
  index_t columns;
  bool accumulate;
};

template <class T, int kRows, int kPanels>
inline void compute_tile(index_t k, MatrixRef<T> a, const T* b, index_t panel_step,
                         index_t row_step, TileTarget<T> out) {
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
  multiply_tile<T, kRows, kVectors>(k, a, b, panel_step, row_step, sum);
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
inline void compute_rows(index_t rows, bool wide, index_t k, MatrixRef<T> a, const T* b,
                         index_t panel_step, index_t row_step, TileTarget<T> out) {
  if constexpr (kRows > 0) {
    if (rows != kRows) {
      return compute_rows<T, kRows - 1>(rows, wide, k, a, b, panel_step, row_step, out);
    }
    if (wide) {
      compute_tile<T, kRows, tile_panels(kRows)>(k, a, b, panel_step, row_step, out);
    } else {
      compute_tile<T, kRows, 1>(k, a, b, panel_step, row_step, out);
    }
  }
}

/// C (m, n) (+)= A (m, k) B (k, n), in the calling thread and without cutting k: the part that gemm
/// and attention share. Calls `finish(i, j, rows, columns)` on each tile that is stored, while it
/// is still in the first cache.
template <class T, class Finish>
inline void multiply_block(index_t m, index_t n, index_t k, MatrixRef<T> a, Panels<T> b, T* c,
                           index_t c_row, bool accumulate, const Finish& finish) {
  // Rows are spread evenly: 8 rows are 4 + 4, which keeps the multipliers busier than 6 + 2.
  const index_t tiles = ceil_div(m, kTileRows);
  const index_t wide_columns = m <= 3 ? tile_panels(static_cast<int>(m)) * kPanel<T> : kPanel<T>;
  index_t columns = 0;
  for (index_t j = 0; j < n; j += columns) {
    const bool wide = wide_columns > kPanel<T> && n - j >= wide_columns;
    columns = wide ? wide_columns : at_most(n - j, kPanel<T>);
    const bool in_tail = columns < kPanel<T>;
    const T* panel = in_tail ? b.tail : b.data + j / kPanel<T> * b.panel_step;
    const index_t row_step = in_tail ? b.tail_row_step : b.row_step;
    for (index_t tile = 0; tile < tiles; ++tile) {
      const index_t i = m * tile / tiles;
      const index_t rows = m * (tile + 1) / tiles - i;
      compute_rows(rows, wide, k, a.at(i, 0), panel, b.panel_step, row_step,
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

/// What is done to a finished tile of C at (i, j): + bias, the activation, + residual.
template <class T>
inline void apply_epilogue(const GemmArgs<T>& args, index_t i, index_t j, index_t rows,
                           index_t columns) {
  for (index_t r = i; r < i + rows; ++r) {
    for (index_t first = 0; first < columns; first += kLanes<T>) {
      const index_t count = at_most(columns - first, kLanes<T>);
      const index_t column = j + first;
      T* to = args.c + r * args.c_row + column;
      Vec<T> y = load_some(to, count);
      if (args.bias != nullptr) y = y + load_some(args.bias + column, count);
      switch (args.activation) {
        case Activation::kNone:
          break;
        case Activation::kRelu:
          y = relu(y);
          break;
        case Activation::kGelu:
          y = gelu_erf(y);
          break;
        case Activation::kGeluTanh:
          y = gelu_tanh(y);
          break;
      }
      if (args.residual != nullptr) {
        y = y + load_some(args.residual + r * args.residual_row + column, count);
      }
      store_some(to, y, count);
    }
  }
}

/// The number of elements of a (k, n) matrix in panels.
template <class T>
index_t packed_size(index_t k, index_t n) noexcept {
  return ceil_div(n, kPanel<T>) * kPanel<T> * k;
}

/// B (k, n), any strides, as panels over all of k.
template <class T>
void pack_b(index_t k, index_t n, const T* b, index_t b_row, index_t b_col, T* packed) noexcept {
  const MatrixRef<T> matrix = {b, b_row, b_col};
  const index_t panel_step = kPanel<T> * k;
  parallel_for(ceil_div(n, kPanel<T>), panel_step, [&](index_t begin, index_t end) {
    for (index_t panel = begin; panel < end; ++panel) {
      const index_t j = panel * kPanel<T>;
      pack_panel(matrix.at(0, j), k, at_most(n - j, kPanel<T>), packed + panel * panel_step);
    }
  });
}

/// Packing reads and writes all of B once more, which a few rows of A do not pay back.
template <class T>
inline bool reads_b_in_place(const GemmArgs<T>& args) {
  return args.b_col == 1 && args.m <= 2 * kTileRows;
}

template <class T>
index_t gemm_workspace(const GemmArgs<T>& args) noexcept {
  if (args.packed_b != nullptr) return 0;
  return packed_size<T>(args.k, reads_b_in_place(args) ? args.n % kPanel<T> : args.n);
}

/// B as panels: packed ahead, packed into the workspace now, or left in place but for the last,
/// narrow panel.
template <class T>
inline Panels<T> prepare_b(const GemmArgs<T>& args) {
  const index_t full_panels = args.n / kPanel<T>;
  const index_t tail = full_panels * kPanel<T>;
  if (args.packed_b == nullptr && reads_b_in_place(args)) {
    pack_b(args.k, args.n - tail, args.b + tail, args.b_row, args.b_col, args.workspace);
    return {args.b, kPanel<T>, args.b_row, args.workspace, kPanel<T>};
  }
  if (args.packed_b == nullptr) {
    pack_b(args.k, args.n, args.b, args.b_row, args.b_col, args.workspace);
  }
  const T* packed = args.packed_b != nullptr ? args.packed_b : args.workspace;
  return {packed, kPanel<T> * args.k, kPanel<T>, packed + tail * args.k, kPanel<T>};
}

/// C's rows [i, i + m) and columns [j, j + n), in blocks of k.
template <class T>
inline void multiply_part(const GemmArgs<T>& args, Panels<T> b, index_t i, index_t j, index_t m,
                          index_t n) {
  const MatrixRef<T> a = {args.a, args.a_row, args.a_col};
  T* const c = args.c + i * args.c_row + j;
  b.data += j / kPanel<T> * b.panel_step;
  const bool has_epilogue =
      args.bias != nullptr || args.residual != nullptr || args.activation != Activation::kNone;
  index_t p = 0;
  do {
    const index_t k = at_most(args.k - p, kBlockK);
    const bool accumulate = args.accumulate || p > 0;
    if (has_epilogue && p + k == args.k) {
      const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
        apply_epilogue(args, i + row, j + column, rows, columns);
      };
      multiply_block(m, n, k, a.at(i, p), b, c, args.c_row, accumulate, finish);
    } else {
      multiply_block(m, n, k, a.at(i, p), b, c, args.c_row, accumulate);
    }
    b.data += k * b.row_step;
    b.tail += k * b.tail_row_step;
    p += k;
  } while (p < args.k);
}

template <class T>
void gemm(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return;
  const Panels<T> panels = prepare_b(args);

  // A task is a block of rows by a group of panels; a few tasks per thread even out the ends.
  const index_t row_blocks = ceil_div(args.m, kBlockRows);
  const index_t block_rows = ceil_div(ceil_div(args.m, row_blocks), kTileRows) * kTileRows;
  const index_t all_panels = ceil_div(args.n, kPanel<T>);
  const index_t flops = 2 * args.m * args.n * args.k;
  const index_t wanted_tasks = flops < kParallelGrain * 16 ? 1 : 4 * thread_count();
  const index_t groups = at_most(ceil_div(wanted_tasks, row_blocks), all_panels);
  const index_t group_columns = ceil_div(all_panels, groups) * kPanel<T>;
  const index_t tasks = row_blocks * groups;
  parallel_tasks(tasks, worker_count(tasks, flops / 16), [&](index_t task, index_t) {
    const index_t i = task / groups * block_rows;
    const index_t j = task % groups * group_columns;
    if (i >= args.m || j >= args.n) return;
    multiply_part(args, panels, i, j, at_most(args.m - i, block_rows),
                  at_most(args.n - j, group_columns));
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
