// Matrix multiplication: the blocks around the register tile, and the threads around the blocks.
// gemm_plan.h chooses their sizes.
//
//     each thread:  a rectangle of C
//       block of k
//         chunk of B:  packed into panels, unless already packed
//           block of rows:  its part of A stays in L2, in place or in strips
//             panels, tiles:  multiply_block of tile.h
//
// No thread waits for another: each packs the part of B that its rectangle needs.
//
// **Reproducibility.** Blocks, chunks and rectangles decide only when products are added to C;
// they do not change the order of the additions.
//
// **Source**: the scheme is Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008.
#pragma once

#include "tessera/tensor/kernels/epilogue.h"
#include "tessera/tensor/kernels/gemm_plan.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/product_args.h"
#include "tessera/tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

/// B (k, n), any strides, as panels over all of k.
template <class T>
void pack_b(index_t k, index_t n, const MatrixRef<T>& b, T* packed) noexcept {
  parallel_for(ceil_div(n, kPanel<T>), kPanel<T> * k, [&](index_t begin, index_t end) {
    const index_t j = begin * kPanel<T>;
    pack_panels(b.at(0, j), k, at_most(end * kPanel<T>, n) - j, packed + j * k);
  });
}

/// B (k, 2n) as gated panels.
template <class T>
void pack_gated_b(index_t k, index_t n, const MatrixRef<T>& b, T* packed) noexcept {
  parallel_for(ceil_div(n, kLanes<T>), kPanel<T> * k, [&](index_t begin, index_t end) {
    const index_t j = begin * kLanes<T>;
    pack_gated_panels(b, n, k, j, at_most(end * kLanes<T>, n) - j, packed + begin * kPanel<T> * k);
  });
}

template <class T>
index_t gemm_workspace(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return 0;
  const GemmPlan plan = plan_gemm(args);
  return plan.parts() * (plan.room_a + plan.room_b);
}

/// Chooses what is prefetched of B. In place: a row some steps ahead, unless B is small. Packed:
/// the same line of the next panel, if a panel over all of k fits into L1; otherwise each tile
/// prefetches a share of the next panel, if there are enough tiles.
template <class T>
inline void choose_prefetching(const GemmArgs<T>& args, const GemmPlan& plan, Panels<T>& panels) {
  constexpr index_t kFewestFetching = 8;
  constexpr index_t kElementsOfL1 = kL1Bytes / static_cast<index_t>(sizeof(T));
  if (plan.b_in_place) {
    // A tile of one row reads four panels; more prefetches at a time would be dropped.
    const index_t rows_ahead = args.m == 1 ? 5 : 12;
    panels.ahead = plan.small_b ? 0 : rows_ahead * args.b.row;
  } else if (kPanel<T> * args.k > kElementsOfL1) {
    panels.fetches_next = args.m >= kFewestFetching * kTileRows;
  } else if (args.m >= 2 * kTileRows) {
    panels.ahead = panels.panel_step;
  }
}

/// B's rows [p, p + k) and columns [j, j + n) as panels: already packed, left in place except for
/// the last, narrow panel, or packed now, in gated panels for a gated product.
template <class T>
inline Panels<T> take_b(const GemmArgs<T>& args, const GemmPlan& plan, index_t p, index_t k,
                        index_t j, index_t n, T* buffer) {
  const index_t full = n / kPanel<T> * kPanel<T>;
  Panels<T> panels = {.data = buffer,
                      .panel_step = kPanel<T> * k,
                      .row_step = kPanel<T>,
                      .tail = buffer,
                      .tail_row_step = kPanel<T>};
  if (args.packed_b != nullptr) {
    panels.data = args.packed_b + j * args.k + p * kPanel<T>;
    panels.panel_step = kPanel<T> * args.k;
    panels.tail = panels.data + full * args.k;
  } else if (plan.b_in_place) {
    panels.data = args.b.at(p, j).data;
    panels.panel_step = kPanel<T>;
    panels.row_step = args.b.row;
    if (full < n) pack_panel(args.b.at(p, j + full), k, n - full, buffer);
  } else if (args.epilogue.gated) {
    const index_t first = j / kPanelVectors;
    const index_t count = at_most(n / kPanelVectors, args.n - first);
    pack_gated_panels(args.b, args.n, k, first, count, buffer);
    panels.tail = buffer + full * k;
  } else {
    pack_panels(args.b.at(p, j), k, n, buffer);
    panels.tail = buffer + full * k;
  }
  choose_prefetching(args, plan, panels);
  return panels;
}

/// A's rows [i, i + m) and columns [p, p + k): in place, or as strips if there is a buffer.
template <class T>
inline MatrixRef<T> take_a(const GemmArgs<T>& args, index_t i, index_t m, index_t p, index_t k,
                           T* buffer) {
  const MatrixRef<T> rows = args.a.at(i, p);
  if (buffer == nullptr) return rows;
  pack_strips(rows, m, k, buffer);
  return {buffer, 0, 0, true};
}

/// C's rows [i, i + m), from the gated panels in columns [j, j + n).
template <class T, class A, class B>
inline void multiply_gated_chunk(const GemmArgs<T>& args, const A& a, const B& b, index_t i,
                                 index_t m, index_t j, index_t n) {
  alignas(64) T tile[kTileElements<T>];
  const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
    finish_gated_tile(args, tile, i + row, (j + column) / kPanelVectors, rows, columns);
  };
  multiply_block(m, args.k, a, b, TileScratch<T>{tile, n}, finish);
}

/// Whether a block of k steps writes C by non-temporal stores: C is large and not read again, and
/// its tiles have too few steps to prefetch it. Rows must begin lines, so that full tiles write
/// whole lines. For floats only: a step of int8 is a group, which may take longer.
template <class T>
inline bool streams_c(const GemmArgs<T>& args, const T* c, index_t k) {
  constexpr int kLine = 64;
  const bool reads_c = args.epilogue.rotation.heads > 0 || reads_sums(args.epilogue);
  return k == args.k && k < kStepsWorthFetching && !reads_c &&
         is_worth_streaming(c, args.c_row, args.m * args.n, kLine);
}

/// Adds the products of A's columns and B's rows [p, p + k) to C's rows [i, i + m) and columns
/// [j, j + n), which start at 0 if p = 0. The last block of k also runs the epilogue.
template <class T, class A, class B>
inline void multiply_chunk(const GemmArgs<T>& args, const A& a, const B& b, index_t i, index_t m,
                           index_t j, index_t n, index_t p, index_t k) {
  const Epilogue<T>& epilogue = args.epilogue;
  if (epilogue.gated) {  // the plan does not divide k
    return multiply_gated_chunk(args, a, b, i, m, j, n);
  }
  TileTarget<T> out = {args.c + i * args.c_row + j, args.c_row, n, p > 0};
  const bool is_last = p + k == args.k;
  if (is_last && epilogue.bias != nullptr) out.bias = epilogue.bias + j;
  out.streams = __is_same(B, Panels<T>) && streams_c(args, out.c, k);
  if (is_last && epilogue.rotation.heads > 0) {
    const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
      if (row + rows != m) return;  // only the last rows complete these columns
      rotate_complete_heads(args, i, m, j + column, columns);
    };
    multiply_block(m, k, a, b, out, finish);
  } else if (is_last && reads_sums(epilogue)) {
    const auto finish = [&](index_t row, index_t column, index_t rows, index_t columns) {
      finish_tile(args, i + row, j + column, rows, columns);
    };
    multiply_block(m, k, a, b, out, finish);
  } else {
    multiply_block(m, k, a, b, out);
    if (out.streams) finish_streams();
  }
}

/// One thread's rectangle: rows [row, row_end) and columns [column, column_end) of C, or of the
/// panels of a gated product.
template <class T>
inline void multiply_rectangle(const GemmArgs<T>& args, const GemmPlan& plan, index_t row,
                               index_t row_end, index_t column, index_t column_end, T* buffer) {
  T* const strips = plan.room_a > 0 ? buffer : nullptr;
  T* const panels = buffer + plan.room_a;
  index_t p = 0;
  do {  // once even if k is 0
    const index_t k = at_most(args.k - p, plan.block_k);
    for (index_t j = column; j < column_end; j += plan.chunk) {
      const index_t n = at_most(column_end - j, plan.chunk);
      const Panels<T> b = take_b(args, plan, p, k, j, n, panels);
      for (index_t i = row; i < row_end; i += plan.block_rows) {
        const index_t m = at_most(row_end - i, plan.block_rows);
        multiply_chunk(args, take_a(args, i, m, p, k, strips), b, i, m, j, n, p, k);
      }
    }
    p += k;
  } while (p < args.k);
}

template <class T>
void gemm(const GemmArgs<T>& args) noexcept {
  if (args.m == 0 || args.n == 0) return;
  const GemmPlan plan = plan_gemm(args);
  const auto multiply = [&](index_t row, index_t row_end, index_t column, index_t column_end,
                            index_t worker) {
    multiply_rectangle(args, plan, row, row_end, column, column_end,
                       args.workspace + worker * (plan.room_a + plan.room_b));
  };
  for_each_rectangle(args, plan, multiply);
}

}  // namespace tessera::kernels::TESSERA_ISA
