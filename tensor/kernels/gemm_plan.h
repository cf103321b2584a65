// Decisions made from a product's sizes and strides before it starts: which operands are copied,
// and how C is divided among threads and caches. The result is bitwise the same in all cases.
#pragma once

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/product_args.h"
#include "tessera/tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

// The blocks. A panel of 384 steps fits into L1 on AVX2. On AVX-512 it would fill L1, so it streams
// from L2, which the hardware prefetcher predicts; longer blocks load and store C less often. With
// few panels, most reads are of A, which is faster in long runs. The prefetcher does not predict
// the rows of a B in place.
inline constexpr index_t kBlockK = kVectorBytes == 64 ? 1024 : 384;
inline constexpr index_t kBlockKOfFewPanels = 1024;
inline constexpr index_t kFewPanels = 8;
inline constexpr index_t kBlockKInPlace = 384;
inline constexpr index_t kBlockRows = 144;  // a multiple of either kTileRows

// The bytes of B that are packed at a time. With one block of rows: half of an L2 of 512 KiB, so
// they stay there until they are used. With more: a thread's share of L3, so that A is read fewer
// times.
inline constexpr index_t kChunkForOneBlock = index_t{256} << 10;
inline constexpr index_t kChunkForMore = index_t{3} << 20;

// A block of A is copied into strips if at least this number of panels of B read it. Rows with
// adjacent elements are fast in place: they are copied if there are many panels in a chunk of B and
// many rows, or if the rows of a tile compete for more ways of L1 than a panel of B leaves them. In
// A^T B every step of k reads different cache lines.
inline constexpr index_t kReadsWorthPacking = 64;
inline constexpr index_t kRowsWorthPacking = 48;
inline constexpr index_t kReadsOfCollidingRows = kTileRows > 8 ? 4 : 16;
inline constexpr index_t kReadsWorthTransposing = 2;
inline constexpr index_t kLinesWorthTransposing = 256;

// If B is in place, each tile of rows reads B once; packing B costs about as much as this number of
// reads.
inline constexpr index_t kTilesInPlace = kVectorBytes == 64 ? 12 : 6;

inline constexpr index_t kL1Bytes = index_t{32} << 10;
inline constexpr index_t kWaysForA = 2;  // of 8

/// One thread per this number of multiply-adds, which take 2 to 3 us in float32 on AVX2 and
/// AVX-512; starting a parallel region takes 1 to 4 us. Products of fewer rows count as kFewestRows
/// rows: reading B limits them.
inline constexpr index_t kGemmGrain = kVectorBytes == 64 ? index_t{5} << 16 : index_t{1} << 17;
inline constexpr index_t kFewestRows = 4;

/// The number of elements of a (k, n) matrix in panels.
template <class T>
inline index_t packed_size(index_t k, index_t n) {
  return round_up(n, kPanel<T>) * k;
}

/// The columns of A B: C's columns, or those of gated panels, which are divided and packed.
template <class T>
inline index_t product_columns(const GemmArgs<T>& args) {
  return args.epilogue.gated ? panel_columns(args.n, true, kLanes<T>) : args.n;
}

/// Which operands are copied, and how the work is divided into threads and steps. Columns are those
/// of A B: a gated product has two for each column of C (product_columns).
struct GemmPlan {
  // C is divided into rectangles, one for each thread:
  index_t row_parts, column_parts;
  index_t rows, columns;  // of a rectangle; the last ones are smaller
  bool b_in_place;        // B is neither packed ahead nor now
  bool small_b;           // in place, and fits into L1
  // The part of its rectangle that a thread processes at a time:
  index_t block_k;     // steps of k
  index_t chunk;       // columns of B
  index_t block_rows;  // rows of A
  // The elements of a thread's buffers: a block of A in strips, unless A stays in place, and a
  // chunk of B, or the last, narrow panel of a B in place.
  index_t room_a, room_b;

  index_t parts() const { return row_parts * column_parts; }
};

/// Whether B, a matrix, has no narrow last panel to copy, and its rows and the gaps between them
/// fill at most half of L1; the rest is for A and C.
template <class T>
inline bool has_small_b(const GemmArgs<T>& args) {
  constexpr index_t kHalfOfL1 = kL1Bytes / 2 / static_cast<index_t>(sizeof(T));
  const index_t row = args.b.row;
  return args.n % kPanel<T> == 0 && row >= args.n && args.k * row <= kHalfOfL1;
}

/// Whether rows that are `row` elements apart compete for the same few lines of L1.
template <class T>
inline bool rows_collide(index_t row) {
  constexpr index_t kPage = 4096;
  return row != 0 && row * static_cast<index_t>(sizeof(T)) % kPage == 0;
}

/// Whether B is read in place: packing reads and writes B once more, which does not pay for few
/// rows of A or for a B that fits into L1. But rows that are a multiple of a page apart compete for
/// the same few cache lines, so a second tile of rows would not find in the cache what the first
/// has read. A gated product needs its own panels.
template <class T>
inline bool reads_b_in_place(const GemmArgs<T>& args) {
  if (args.packed_b != nullptr || args.epilogue.gated) return false;
  const MatrixRef<T>& b = args.b;
  if (b.col != 1) return false;
  if (rows_collide<T>(b.row)) return args.m <= kTileRows;
  return args.m <= kTilesInPlace * kTileRows || has_small_b(args);
}

/// The columns of C that one thread must compute together: a panel and, if heads are rotated, also
/// a head, whose pairs the thread rotates as soon as they are complete. The least common multiple
/// of both; a panel is a power of two.
template <class T>
inline index_t column_unit(const GemmArgs<T>& args) {
  if (args.epilogue.rotation.heads == 0) return kPanel<T>;
  const index_t width = args.epilogue.rotation.width;
  return width * (kPanel<T> / at_most(kPanel<T>, width & -width));
}

/// A plan with only the division into rectangles: the one whose largest rectangle has the lowest
/// cost per step of k, in multiply-adds.
template <class T>
inline GemmPlan split_work(const GemmArgs<T>& args, bool packs_b) {
  // Reading an element of A or B costs as much as 16 multiply-adds, packing one of B as much as 48:
  // measured on AVX2.
  constexpr index_t kReading = 16;
  constexpr index_t kPacking = 48;
  const index_t tiles = ceil_div(args.m, kTileRows);
  const index_t n = product_columns(args);
  const index_t panels = ceil_div(n, kPanel<T>);
  const index_t worthwhile = at_least(args.m, kFewestRows) * n * args.k / kGemmGrain;
  const index_t threads = worthwhile <= 1 ? 1 : at_most(args.workers, worthwhile);
  GemmPlan best = {};
  index_t least = 0;
  for (index_t row_parts = 1; row_parts <= at_most(threads, tiles); ++row_parts) {
    const index_t rows = ceil_div(args.m, row_parts);
    const index_t share = ceil_div(panels, threads / row_parts) * kPanel<T>;
    const index_t columns = round_up(share, column_unit(args));
    const index_t cost =
        rows * columns + kReading * rows + (packs_b ? kPacking : kReading) * columns;
    if (row_parts == 1 || cost < least) {
      least = cost;
      best.row_parts = ceil_div(args.m, rows);
      best.column_parts = ceil_div(n, columns);
      best.rows = rows;
      best.columns = columns;
    }
  }
  return best;
}

/// Calls f(row, row_end, column, column_end, worker) for each rectangle of C, each on its own
/// thread.
template <class T, class F>
inline void for_each_rectangle(const GemmArgs<T>& args, const GemmPlan& plan, const F& f) {
  const index_t columns = product_columns(args);
  parallel_tasks(plan.parts(), plan.parts(), [&](index_t part, index_t worker) {
    const index_t row = part / plan.column_parts * plan.rows;
    const index_t column = part % plan.column_parts * plan.columns;
    f(row, at_most(row + plan.rows, args.m), column, at_most(column + plan.columns, columns),
      worker);
  });
}

/// The size of the parts if `total` is divided into the fewest parts of at most `most`: equal, then
/// rounded up to a multiple of `unit`, which divides `most`.
inline index_t equal_part(index_t total, index_t most, index_t unit) {
  if (total <= most) return total;
  return round_up(ceil_div(total, ceil_div(total, most)), unit);
}

/// The columns of B that are packed at a time for a rectangle.
template <class T>
inline index_t packed_columns(const GemmPlan& plan, index_t block_k, index_t unit) {
  const index_t bytes = plan.rows <= kBlockRows ? kChunkForOneBlock : kChunkForMore;
  const index_t panel_bytes = packed_size<T>(block_k, kPanel<T>) * static_cast<index_t>(sizeof(T));
  // Rounded up to at least one unit; k may be 0.
  const index_t columns = ceil_div(bytes, at_least(panel_bytes, 1)) * kPanel<T>;
  return equal_part(plan.columns, round_up(columns, unit), unit);
}

/// The rows of C that are processed at a time, in a rectangle of `rows` rows.
inline index_t rows_of_block(index_t rows) {
  const index_t blocks = ceil_div(rows, kBlockRows);
  return round_up(ceil_div(rows, blocks), kTileRows);
}

/// Whether a block of A is packed into strips before it is used. In place, a tile reads one line
/// from each of its rows at a time; in a product A^T B, as in the gradient of a weight, a new line
/// at each step of k. Packed, A is one stream, which the prefetcher predicts even on a core shared
/// with other threads.
template <class T>
inline bool packs_a(const GemmArgs<T>& args, index_t rows, index_t chunk) {
  const index_t reads = chunk / kPanel<T>;
  if (args.a.col == 1) {
    const bool misses = at_most(rows, kTileRows) > kWaysForA && rows_collide<T>(args.a.row);
    if (misses) return reads >= kReadsOfCollidingRows;
    return reads >= kReadsWorthPacking && rows >= kRowsWorthPacking;
  }
  return args.a.row == 1 && reads >= kReadsWorthTransposing && args.k >= kLinesWorthTransposing;
}

/// The plan of a product that is not empty.
template <class T>
inline GemmPlan plan_gemm(const GemmArgs<T>& args) {
  constexpr index_t kLine = 64 / sizeof(T);
  const bool in_place = reads_b_in_place(args);
  const bool packs_b = args.packed_b == nullptr && !in_place;
  GemmPlan plan = split_work(args, packs_b);
  plan.b_in_place = in_place;
  plan.small_b = in_place && has_small_b(args);
  // A tile prefetches a share of kFetchedRows rows at a time.
  static_assert(kBlockK % kFetchedRows == 0 && kBlockKOfFewPanels % kFetchedRows == 0 &&
                kBlockKInPlace % kFetchedRows == 0);
  const bool few_panels = plan.columns <= kFewPanels * kPanel<T>;
  const index_t packed_k = few_panels ? kBlockKOfFewPanels : kBlockK;
  plan.block_k = equal_part(args.k, in_place ? kBlockKInPlace : packed_k, kFetchedRows);
  if (args.epilogue.gated) plan.block_k = args.k;  // sums must be complete before the gate
  plan.chunk = packs_b ? packed_columns<T>(plan, plan.block_k, column_unit(args)) : plan.columns;
  plan.block_rows = rows_of_block(plan.rows);
  const index_t strips = round_up(plan.block_rows * plan.block_k + kLanes<T>, kLine);
  plan.room_a = packs_a(args, plan.rows, plan.chunk) ? strips : 0;
  const bool copies_last = plan.b_in_place && args.n % kPanel<T> != 0;
  const index_t packed = packs_b ? plan.chunk : copies_last ? kPanel<T> : 0;
  plan.room_b = packed_size<T>(plan.block_k, packed);
  return plan;
}

}  // namespace tessera::kernels::TESSERA_ISA
