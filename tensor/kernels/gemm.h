// Matrix multiplication: the blocks around the register tile, and the threads around the blocks.
// How large they are, gemm_plan.h decides.
//
//     each thread:  a rectangle of C
//       block of k
//         chunk of B:  packed into panels, unless it came packed
//           block of rows:  their part of A stays in L2, in place or in strips
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

#include "tensor/kernels/bfloat16.h"
#include "tensor/kernels/gated.h"
#include "tensor/kernels/gemm_plan.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/rotary.h"
#include "tensor/kernels/table.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

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

/// Turns, in C's rows [i, i + m), the heads that are complete with columns (j, j + columns], while
/// the caches still hold them. No thread has a part of a head (column_unit).
template <class T>
[[gnu::noinline]] void turn_complete_heads(const GemmArgs<T>& args, index_t i, index_t m, index_t j,
                                           index_t columns) {
  const index_t width = args.rotary->width;
  const index_t first = j / width;
  const index_t end = at_most((j + columns) / width, args.rotary->heads);
  if (first >= end) return;
  RotaryArgs<T> part = *args.rotary;
  part.first_row = i;
  part.rows = m;
  part.heads = end - first;
  part.y = args.c + i * args.c_row + first * width;
  part.x = part.y;
  part.x_row = part.y_row = args.c_row;
  part.x_head = part.y_head = width;
  rotary(part);
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

/// B (k, 2n) as gated panels.
template <class T>
void pack_gated_b(index_t k, index_t n, const T* b, index_t b_row, index_t b_col,
                  T* packed) noexcept {
  const MatrixRef<T> matrix = {b, b_row, b_col};
  parallel_for(ceil_div(n, kLanes<T>), kPanel<T> * k, [&](index_t begin, index_t end) {
    const index_t j = begin * kLanes<T>;
    pack_gated_panels(matrix, n, k, j, at_most(end * kLanes<T>, n) - j,
                      packed + begin * kPanel<T> * k);
  });
}

template <class T>
index_t gemm_workspace(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return 0;
  const GemmPlan plan = plan_gemm(args);
  return plan.threads() * (plan.room_a + plan.room_b);
}

/// What of B is prefetched: in place some rows down, unless it is small. In packed panels the same
/// line of the next one, if a panel fits into L1, else in each tile a share of the next
/// panel, where there are tiles enough to spread it.
template <class T>
inline void choose_prefetching(const GemmArgs<T>& args, const GemmPlan& plan, Panels<T>& panels) {
  constexpr index_t kRowsAhead = 5;
  constexpr index_t kFewestFetching = 8;
  constexpr index_t kElementsOfL1 = kL1Bytes / static_cast<index_t>(sizeof(T));
  if (plan.b_in_place) {
    panels.ahead = plan.small_b ? 0 : kRowsAhead * args.b_row;
  } else if (kPanel<T> * args.k > kElementsOfL1) {
    panels.fetches_next = args.m >= kFewestFetching * kTileRows;
  } else if (args.m >= 2 * kTileRows) {
    panels.ahead = panels.panel_step;
  }
}

/// B's rows [p, p + k) and columns [j, j + n), in the order of the panels: packed ahead, left in
/// place but for the last, narrow panel, or packed now.
template <class T>
inline Panels<T> take_b(const GemmArgs<T>& args, const GemmPlan& plan, index_t p, index_t k,
                        index_t j, index_t n, T* buffer) {
  const index_t full = n / kPanel<T> * kPanel<T>;
  Panels<T> panels = {buffer, kPanel<T> * k, kPanel<T>, buffer + full * k, kPanel<T>};
  const MatrixRef<T> b = MatrixRef<T>{args.b, args.b_row, args.b_col}.at(p, j);
  if (args.packed_b != nullptr) {
    panels.data = args.packed_b + j * args.k + p * kPanel<T>;
    panels.panel_step = kPanel<T> * args.k;
    panels.tail = panels.data + full * args.k;
  } else if (plan.b_in_place) {
    panels = {b.data, kPanel<T>, b.row, buffer, kPanel<T>};
    if (full < n) pack_panel(b.at(0, full), k, n - full, buffer);
  } else if (args.gated) {
    const index_t first = j / kTileVectors;
    const index_t count = at_most(n / kTileVectors, args.n - first);
    pack_gated_panels(MatrixRef<T>{args.b, args.b_row, args.b_col}, args.n, k, first, count,
                      buffer);
  } else {
    pack_panels(b, k, n, buffer);
  }
  choose_prefetching(args, plan, panels);
  return panels;
}

/// B's panels in bfloat16, from row p and column j on.
inline HalfPanels take_halves(const GemmArgs<float>& args, index_t p, index_t j) {
  return {args.packed_halves + j / kTileVectors * args.k + p * kLanes<float>,
          args.k * kLanes<float>};
}

/// A's rows [i, i + m) and columns [p, p + k): in place, or as strips where there is a buffer.
template <class T>
inline TileRows<T> take_a(const GemmArgs<T>& args, index_t i, index_t m, index_t p, index_t k,
                          T* buffer) {
  const MatrixRef<T> a = MatrixRef<T>{args.a, args.a_row, args.a_col}.at(i, p);
  return buffer == nullptr ? TileRows<T>(a) : pack_strips(a, m, k, buffer);
}

/// C's rows [i, i + m) of what gated panels in columns [j, j + n) give.
template <class T, class B>
inline void multiply_gated_chunk(const GemmArgs<T>& args, const TileRows<T>& a, const B& b,
                                 index_t i, index_t m, index_t j, index_t n) {
  alignas(64) T tile[kTileElements<T>];
  const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
    finish_gated_tile(args, tile, i + row, (j + column) / kTileVectors, rows, columns);
  };
  multiply_block(m, args.k, a, b, TileScratch<T>{tile, n}, finish);
}

/// Adds to C's rows [i, i + m) and columns [j, j + n) what `a` and `b`, A's columns and B's rows
/// [p, p + k), give. `B` is Panels<T> or HalfPanels.
template <class T, class B>
inline void multiply_chunk(const GemmArgs<T>& args, const TileRows<T>& a, const B& b, index_t i,
                           index_t m, index_t j, index_t n, index_t p, index_t k) {
  if (args.gated) return multiply_gated_chunk(args, a, b, i, m, j, n);
  const bool is_last = p + k == args.k;
  TileTarget<T> out = {args.c + i * args.c_row + j, args.c_row, n, args.accumulate || p > 0};
  if (is_last && args.bias != nullptr) out.bias = args.bias + j;
  const bool has_epilogue = args.residual != nullptr || args.activation != Activation::kNone;
  if (has_epilogue && is_last) {
    const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
      apply_epilogue(args, i + row, j + column, rows, columns);
    };
    multiply_block(m, k, a, b, out, finish);
  } else if (args.rotary != nullptr && is_last) {
    const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
      if (row + rows == m) turn_complete_heads(args, i, m, j + column, columns);
    };
    multiply_block(m, k, a, b, out, finish);
  } else {
    multiply_block(m, k, a, b, out);
  }
}

/// One thread's rectangle: rows [row, row_end) and columns [column, column_end) of C, or of the panels
/// of a gated product.
template <class T>
inline void multiply_rectangle(const GemmArgs<T>& args, const GemmPlan& plan, index_t row,
                               index_t row_end, index_t column, index_t column_end, T* buffer) {
  T* const strips = plan.room_a > 0 ? buffer : nullptr;
  T* const panels = buffer + plan.room_a;
  index_t p = 0;
  do {  // once even where k is 0
    const index_t k = at_most(args.k - p, plan.block_k);
    for (index_t j = column; j < column_end; j += plan.chunk) {
      const index_t n = at_most(column_end - j, plan.chunk);
      const auto multiply = [&](const auto& b) {
        for (index_t i = row; i < row_end; i += plan.block_rows) {
          const index_t m = at_most(row_end - i, plan.block_rows);
          multiply_chunk(args, take_a(args, i, m, p, k, strips), b, i, m, j, n, p, k);
        }
      };
      if constexpr (sizeof(T) == sizeof(float)) {
        if (args.packed_halves != nullptr) {
          multiply(take_halves(args, p, j));
          continue;
        }
      }
      multiply(take_b(args, plan, p, k, j, n, panels));
    }
    p += k;
  } while (p < args.k);
}

template <class T>
void gemm(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return;
  const GemmPlan plan = plan_gemm(args);
  const Split& split = plan.split;
  parallel_tasks(plan.threads(), plan.threads(), [&](index_t part, index_t worker) {
    const index_t row = part / split.column_parts * split.rows;
    const index_t column = part % split.column_parts * split.columns;
    multiply_rectangle(args, plan, row, at_most(row + split.rows, args.m), column,
                       at_most(column + split.columns, product_columns(args)),
                       args.workspace + worker * (plan.room_a + plan.room_b));
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
