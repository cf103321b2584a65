// Matrix multiplication: the blocks around the register tile, and the threads around the blocks.
//
//     each thread:  a rectangle of C
//       block of k:  kBlockK
//         chunk of B:  packed into panels, unless it came packed
//           block of rows:  kBlockRows, whose part of A stays in L2, in place or in strips
//             panels, tiles:  multiply_block of tile.h
//
// No thread waits for another: each packs the part of B that its rectangle needs.
//
// **The same bits.** Blocks, chunks and rectangles decide only when a product is added to
// C[i][j], never after which other product.
//
// **Source**: the scheme is Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008.
#pragma once

#include "tensor/kernels/gelu.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

// The blocks. With k in blocks of 1024 a panel of B exceeds L1 and streams from L2, which the
// hardware's prefetcher predicts; shorter blocks, whose panels L1 keeps, load and store C more
// often, which costs more. Rows of a B in place are not predicted. (On AVX-512 256, not yet
// measured.)
inline constexpr index_t kBlockK = kVectorBytes == 64 ? 256 : 1024;
inline constexpr index_t kBlockKInPlace = kVectorBytes == 64 ? 256 : 384;
inline constexpr index_t kBlockRows = 96;        // a multiple of either kTileRows
inline constexpr index_t kRowsOfOneBlock = 144;  // a second block would read all of B again

// The bytes of B that are packed at a time. With one block of rows half of an L2 of 512 KiB, which
// keeps them until they are used; with more as many as a thread's share of L3, so that A is read
// seldom.
inline constexpr index_t kChunkForOneBlock = index_t{256} << 10;
inline constexpr index_t kChunkForMore = index_t{1536} << 10;

// A block of A is copied into strips where a chunk has so many panels of B, each of which reads it.
// Rows whose elements are adjacent lie well in place: they are copied for many panels alone. In
// A^T B, where those of a column are, each step of k reads other lines.
inline constexpr index_t kReadsWorthPacking = 24;
inline constexpr index_t kRowsWorthPacking = 48;
inline constexpr index_t kReadsWorthTurning = 2;
inline constexpr index_t kLinesWorthTurning = 256;

inline constexpr index_t kL1Bytes = index_t{32} << 10;

/// A thread more is worth this number of multiply-adds, about three microseconds.
inline constexpr index_t kGemmGrain = index_t{1} << 17;

/// The activation of each element.
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
  }
  return x;
}

/// apply_epilogue for kRows rows by one panel, of which `columns` columns exist.
template <int kRows, class T>
[[gnu::always_inline]] inline void finish_rows(const GemmArgs<T>& args, index_t i, index_t j,
                                               index_t columns) {
  constexpr int kCount = kRows * kTileVectors;
  const auto width = [&](int n) {
    return at_least(at_most(columns - n % kTileVectors * kLanes<T>, kLanes<T>), 0);
  };
  const auto address = [&](auto* matrix, index_t row_step, int n) {
    return matrix + (i + n / kTileVectors) * row_step + j + n % kTileVectors * kLanes<T>;
  };
  Vectors<T, kCount> y;
#pragma GCC unroll 8
  for (int n = 0; n < kCount; ++n) y.at[n] = load_some(address(args.c, args.c_row, n), width(n));
  if (args.activated != nullptr) {
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      store_some(address(args.activated, args.c_row, n), y.at[n], width(n));
    }
  }
  y = activate(args.activation, y);
  if (args.residual != nullptr) {
#pragma GCC unroll 8
    for (int n = 0; n < kCount; ++n) {
      y.at[n] = y.at[n] + load_some(address(args.residual, args.residual_row, n), width(n));
    }
  }
#pragma GCC unroll 8
  for (int n = 0; n < kCount; ++n) store_some(address(args.c, args.c_row, n), y.at[n], width(n));
}

/// What is done to a finished tile of C at (i, j), bias included: the activation, + residual.
template <class T>
inline void apply_epilogue(const GemmArgs<T>& args, index_t i, index_t j, index_t rows,
                           index_t columns) {
  constexpr int kRows = kInLockstep / kTileVectors;
  for (index_t first = 0; first < columns; first += kPanel<T>) {
    const index_t left = columns - first;
    index_t r = 0;
    for (; left >= kPanel<T> && r + kRows <= rows; r += kRows) {
      finish_rows<kRows>(args, i + r, j + first, kPanel<T>);
    }
    for (; r < rows; ++r) finish_rows<1>(args, i + r, j + first, at_most(left, kPanel<T>));
  }
}

/// The number of elements of a (k, n) matrix in panels.
template <class T>
index_t packed_size(index_t k, index_t n) noexcept {
  return round_up(n, kPanel<T>) * k;
}

/// B (k, n), any strides, as panels over all of k.
template <class T>
void pack_b(index_t k, index_t n, const T* b, index_t b_row, index_t b_col, T* packed) noexcept {
  const MatrixRef<T> matrix = {b, b_row, b_col};
  parallel_for(ceil_div(n, kPanel<T>), kPanel<T> * k, [&](index_t begin, index_t end) {
    const index_t j = begin * kPanel<T>;
    pack_panels(matrix.at(0, j), k, at_most(end * kPanel<T>, n) - j, packed + j * k);
  });
}

/// Whether B has no narrow last panel to copy, and its rows, with what lies between them, fill at
/// most half of L1; the rest is for A and C.
template <class T>
inline bool has_small_b(const GemmArgs<T>& args) {
  constexpr index_t kHalfOfL1 = kL1Bytes / 2 / static_cast<index_t>(sizeof(T));
  return args.n % kPanel<T> == 0 && args.b_row >= args.n && args.k * args.b_row <= kHalfOfL1;
}

/// Whether B stays where it is: packing reads and writes it once more, which few rows of A do not
/// pay back, nor a B that L1 keeps. But rows that are pages apart fall on the same few places of a
/// cache, so that a second tile of rows would find nothing there of what the first one has read.
template <class T>
inline bool reads_b_in_place(const GemmArgs<T>& args) {
  if (args.packed_b != nullptr || args.b_col != 1) return false;
  constexpr index_t kPage = 4096;
  const bool collides = args.b_row * static_cast<index_t>(sizeof(T)) % kPage == 0;
  if (collides) return args.m <= kTileRows;
  return args.m <= 6 * kTileRows || has_small_b(args);
}

template <class T>
inline bool packs_b(const GemmArgs<T>& args) {
  return args.packed_b == nullptr && !reads_b_in_place(args);
}

template <class T>
inline index_t block_k(const GemmArgs<T>& args) {
  return at_most(args.k, reads_b_in_place(args) ? kBlockKInPlace : kBlockK);
}

/// How C is cut into rectangles, one for each thread.
struct Split {
  index_t row_parts, column_parts;
  index_t rows, columns;  // of a part; the last ones are smaller
};

/// The split whose largest part costs least per step of k, in multiply-adds.
template <class T>
inline Split split_work(const GemmArgs<T>& args) {
  // Reading an element of A or B costs as much as 16 multiply-adds, packing one of B as much as 48:
  // measured on AVX2.
  constexpr index_t kReading = 16;
  constexpr index_t kPacking = 48;
  const index_t tiles = ceil_div(args.m, kTileRows);
  const index_t panels = ceil_div(args.n, kPanel<T>);
  const index_t worthwhile = args.m * args.n * args.k / kGemmGrain;
  const index_t threads = worthwhile <= 1 ? 1 : at_most(args.workers, worthwhile);
  Split best = {};
  index_t least = 0;
  for (index_t row_parts = 1; row_parts <= at_most(threads, tiles); ++row_parts) {
    const index_t rows = ceil_div(tiles, row_parts) * kTileRows;
    const index_t columns = ceil_div(panels, threads / row_parts) * kPanel<T>;
    const index_t cost =
        rows * columns + kReading * rows + (packs_b(args) ? kPacking : kReading) * columns;
    if (row_parts == 1 || cost < least) {
      least = cost;
      best = {ceil_div(args.m, rows), ceil_div(args.n, columns), rows, columns};
    }
  }
  return best;
}

/// The columns of B that a thread takes at a time.
template <class T>
inline index_t chunk_columns(const GemmArgs<T>& args, const Split& split) {
  if (!packs_b(args)) return split.columns;
  const index_t bytes = split.rows <= kRowsOfOneBlock ? kChunkForOneBlock : kChunkForMore;
  const index_t panel_bytes =
      packed_size<T>(block_k(args), kPanel<T>) * static_cast<index_t>(sizeof(T));
  // Rounded up, to one panel at least; k may be 0.
  return at_most(split.columns, ceil_div(bytes, at_least(panel_bytes, 1)) * kPanel<T>);
}

/// The rows of C that a thread takes at a time, of those that are its own.
inline index_t block_rows(index_t rows) {
  const index_t blocks = rows <= kRowsOfOneBlock ? 1 : ceil_div(rows, kBlockRows);
  return round_up(ceil_div(rows, blocks), kTileRows);
}

/// Whether a block of A is packed into strips before it is used. In place a tile reads a line from
/// each of its rows at a time, and in a product A^T B, as in the gradient of a weight, another line
/// at each step of k. Packed, it is one stream, which a core that others burden still predicts.
template <class T>
inline bool packs_a(const GemmArgs<T>& args, const Split& split) {
  const index_t reads = chunk_columns(args, split) / kPanel<T>;
  if (args.a_col == 1) return reads >= kReadsWorthPacking && split.rows >= kRowsWorthPacking;
  return args.a_row == 1 && reads >= kReadsWorthTurning && args.k >= kLinesWorthTurning;
}

/// The elements of a thread's buffer: a block of A in strips, and a chunk of B or the last, narrow
/// panel of a B in place.
struct Room {
  index_t a, b;
};

template <class T>
inline Room part_workspace(const GemmArgs<T>& args, const Split& split) {
  constexpr index_t kLine = 64 / sizeof(T);
  const index_t columns = packs_b(args) ? chunk_columns(args, split) : kPanel<T>;
  return {packs_a(args, split) ? round_up(block_rows(split.rows) * block_k(args) + kLanes<T>, kLine)
                               : 0,
          args.packed_b != nullptr ? 0 : packed_size<T>(block_k(args), columns)};
}

template <class T>
index_t gemm_workspace(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return 0;
  const Split split = split_work(args);
  const Room room = part_workspace(args, split);
  return split.row_parts * split.column_parts * (room.a + room.b);
}

/// What of B is prefetched: in place some rows down, unless it is small. In packed panels the same
/// line of the next one, if a panel fits into L1, else in each tile a share of the next
/// panel, where there are tiles for most shares.
template <class T>
inline void plan_prefetching(const GemmArgs<T>& args, Panels<T>& panels) {
  constexpr index_t kRowsAhead = 5;
  constexpr index_t kElementsOfL1 = kL1Bytes / static_cast<index_t>(sizeof(T));
  if (reads_b_in_place(args)) {
    panels.ahead = has_small_b(args) ? 0 : kRowsAhead * args.b_row;
  } else if (kPanel<T> * args.k > kElementsOfL1) {
    panels.fetches_next = args.m >= kPrefetchers / 2 * kTileRows;
  } else if (args.m >= 2 * kTileRows) {
    panels.ahead = panels.panel_step;
  }
}

/// B's rows [p, p + k) and columns [j, j + n) as panels: packed ahead, left in place but for the
/// last, narrow panel, or packed now.
template <class T>
inline Panels<T> take_b(const GemmArgs<T>& args, index_t p, index_t k, index_t j, index_t n,
                        T* buffer) {
  const index_t full = n / kPanel<T> * kPanel<T>;
  Panels<T> panels = {buffer, kPanel<T> * k, kPanel<T>, buffer + full * k, kPanel<T>};
  const MatrixRef<T> b = MatrixRef<T>{args.b, args.b_row, args.b_col}.at(p, j);
  if (args.packed_b != nullptr) {
    panels.data = args.packed_b + j * args.k + p * kPanel<T>;
    panels.panel_step = kPanel<T> * args.k;
    panels.tail = panels.data + full * args.k;
  } else if (reads_b_in_place(args)) {
    panels = {b.data, kPanel<T>, b.row, buffer, kPanel<T>};
    if (full < n) pack_panel(b.at(0, full), k, n - full, buffer);
  } else {
    pack_panels(b, k, n, buffer);
  }
  plan_prefetching(args, panels);
  return panels;
}

/// A's rows [i, i + m) and columns [p, p + k): in place, or as strips where there is a buffer.
template <class T>
inline TileRows<T> take_a(const GemmArgs<T>& args, index_t i, index_t m, index_t p, index_t k,
                          T* buffer) {
  const MatrixRef<T> a = MatrixRef<T>{args.a, args.a_row, args.a_col}.at(i, p);
  return buffer == nullptr ? TileRows<T>(a) : pack_strips(a, m, k, buffer);
}

/// Adds to C's rows [i, i + m) and columns [j, j + n) what `a` and `b`, A's columns and B's rows
/// [p, p + k), give.
template <class T>
inline void multiply_part(const GemmArgs<T>& args, const TileRows<T>& a, const Panels<T>& b,
                          index_t i, index_t m, index_t j, index_t n, index_t p, index_t k) {
  const bool is_last = p + k == args.k;
  TileTarget<T> out = {args.c + i * args.c_row + j, args.c_row, n, args.accumulate || p > 0};
  if (is_last && args.bias != nullptr) out.bias = args.bias + j;
  const bool has_epilogue = args.residual != nullptr || args.activation != Activation::kNone;
  if (has_epilogue && is_last) {
    const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
      apply_epilogue(args, i + row, j + column, rows, columns);
    };
    multiply_block(m, k, a, b, out, finish);
  } else {
    multiply_block(m, k, a, b, out);
  }
}

/// One thread's rectangle: rows [row, row_end) and columns [column, column_end) of C, by blocks of
/// `rows` and chunks of `chunk` columns, which the buffers have room for.
template <class T>
inline void multiply_rectangle(const GemmArgs<T>& args, index_t row, index_t row_end,
                               index_t column, index_t column_end, index_t rows, index_t chunk,
                               T* buffer_a, T* buffer_b) {
  index_t p = 0;
  do {  // once even where k is 0
    const index_t k = at_most(args.k - p, block_k(args));
    for (index_t j = column; j < column_end; j += chunk) {
      const index_t n = at_most(column_end - j, chunk);
      const Panels<T> b = take_b(args, p, k, j, n, buffer_b);
      for (index_t i = row; i < row_end; i += rows) {
        const index_t m = at_most(row_end - i, rows);
        multiply_part(args, take_a(args, i, m, p, k, buffer_a), b, i, m, j, n, p, k);
      }
    }
    p += k;
  } while (p < args.k);
}

template <class T>
void gemm(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return;
  const Split split = split_work(args);
  const index_t chunk = chunk_columns(args, split);
  const Room room = part_workspace(args, split);
  const index_t parts = split.row_parts * split.column_parts;
  parallel_tasks(parts, parts, [&](index_t part, index_t worker) {
    const index_t row = part / split.column_parts * split.rows;
    const index_t column = part % split.column_parts * split.columns;
    T* const buffer = args.workspace + worker * (room.a + room.b);
    multiply_rectangle(args, row, at_most(row + split.rows, args.m), column,
                       at_most(column + split.columns, args.n), block_rows(split.rows), chunk,
                       room.a > 0 ? buffer : nullptr, buffer + room.a);
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
