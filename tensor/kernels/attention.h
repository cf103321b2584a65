// Fused attention: softmax(Q K^T scale + masks) V without the T x T matrix in memory.
//
// For a block of queries, the keys are processed tile by tile; both products of a tile use the
// register tiles of tile.h:
//
//   S^T (keys x queries)  = K tile . Q^T      Q^T packed once, scaled
//   P^T                   = 2^(S^T - m)       attention_softmax.h: lanes are queries
//   O  (queries x width) += P . V tile        P read from P^T by strides, V packed
//
// Heads are usually adjacent in memory, so the rows of one head are far apart, about a page each.
// Rows that are used more than once are therefore copied: a worker takes a span of query blocks,
// copies a tile of K and V once for all these blocks, and prefetches the rows of the next tile
// while it computes.
//
// **Reproducibility.** The result of a query depends only on its own row of scores: tiles have a
// constant size and are counted from key 0, so other queries, threads and vector width make no
// difference. A masked key has a weight of exactly 0 and does not change the maximum m, the sum
// of weights l, or O. So masked keys at both ends are skipped: a block processes the keys [begin,
// stop) that its queries see, which may begin and stop in the middle of a tile.
//
// **Dropout** sets weights to 0 after they are added to l and before the product with V.
//
// **Source**: Dao et al., "FlashAttention", 2022, Algorithm 1.
#pragma once

#include "tessera/tensor/kernels/attention_capture.h"
#include "tessera/tensor/kernels/attention_dropout.h"
#include "tessera/tensor/kernels/attention_masks.h"
#include "tessera/tensor/kernels/attention_softmax.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/transpose.h"

namespace tessera::kernels::TESSERA_ISA {

/// Packs `count` rows, times `scale`, as columns of panels, padded with zeros.
template <class T>
inline void pack_transposed(const T* first, index_t stride, index_t count, index_t width, T scale,
                            T* panels) {
  for (index_t i = 0; i < whole_panels<T>(count); i += kLanes<T>) {
    const T* const rows = first + i * stride;
    T* const panel = panels + i / kPanel<T> * kPanel<T> * width + i % kPanel<T>;
    for (index_t p = 0; p < width; p += kLanes<T>) {
      const index_t columns = at_most(width - p, kLanes<T>);
      Vec<T> block[kLanes<T>];
      load_transposed(rows + p, stride, count - i, columns, block);
      for (index_t r = 0; r < columns; ++r) store(panel + (p + r) * kPanel<T>, block[r] * scale);
    }
  }
}

/// Packs Q^T times scale log2(e), so that a score s gives the weight 2^s instead of exp(s).
template <class T>
inline void pack_queries(const QueryBlock<T>& span, T* queries) {
  const T scale =
      static_cast<T>(static_cast<double>(span.args.scale) * MathConstants<double>::kLog2E);
  pack_transposed(span.q(), span.args.q.token, span.count, span.args.width, scale, queries);
}

/// Copies rows into contiguous memory.
template <class T>
inline void copy_rows(const T* first, index_t stride, index_t rows, index_t width, T* to) {
  for (index_t i = 0; i < rows; ++i) {
    for (index_t p = 0; p < width; p += kLanes<T>) {
      const index_t count = at_most(width - p, kLanes<T>);
      store_some(to + i * width + p, load_some(first + i * stride + p, count), count);
    }
  }
}

/// Prefetches `rows` rows.
template <Fetch kFetch, class T>
[[gnu::always_inline]] inline void prefetch_rows(const T* first, index_t stride, index_t rows,
                                                 index_t width) {
  constexpr index_t kLine = 64 / static_cast<index_t>(sizeof(T));
  for (index_t i = 0; i < rows; ++i) {
    for (index_t p = 0; p < width; p += kLine) prefetch<kFetch>(first, i * stride + p);
  }
}

/// Prefetches the values of `rows` keys from `key` on, and the keys at the same positions of the
/// next tile. Called for a few rows at a time, between other work: a burst would fill the memory
/// queues.
template <class T>
[[gnu::always_inline]] inline void prefetch_tile_rows(const QueryBlock<T>& block, index_t key,
                                                      index_t rows) {
  const AttentionArgs<T>& args = block.args;
  const index_t next = key + kKeyTile;
  prefetch_rows<Fetch::kForL1>(block.v(key), args.v.token, rows, args.v_width);
  prefetch_rows<Fetch::kForL1>(block.k(next), args.k.token, at_most(block.keys.stop - next, rows),
                               args.width);
}

/// A tile of keys and values that the blocks of a span share, without keys that no block sees.
template <class T>
struct KeyTile {
  index_t first, count;
  bool copied;  // false: too few queries to pay for copies
  bool fresh;   // no block has used the tile yet, so its values must be packed
};

/// Computes S^T for one block and some keys of the tile.
template <class T>
inline void score_tile(const QueryBlock<T>& block, const KeyTile<T>& tile, index_t key,
                       index_t keys, const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = block.args;
  const T* const copied = scratch.keys + (key - tile.first) * args.width;
  const MatrixRef<T> k = tile.copied ? MatrixRef<T>{copied, args.width, 1}
                                     : MatrixRef<T>{block.k(key), args.k.token, 1};
  for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
    const Panels<T> queries = {scratch.queries + i * args.width, 0, kPanel<T>};
    index_t rows = 0;
    for (index_t j = 0; j < keys; j += rows) {
      rows = next_rows(keys - j);
      if (tile.fresh && i == 0) prefetch_tile_rows(block, key + j, rows);
      T* const scores = scratch.scores + j * kQueryBlock + i;
      compute_rows(rows, false, args.width, k.at(j, 0), queries,
                   TileTarget<T>{scores, kQueryBlock, kPanel<T>, false});
    }
  }
}

/// The same sums for a few queries, which would leave most lanes of a panel empty: here lanes are
/// keys.
template <class T>
inline void score_few(const QueryBlock<T>& block, index_t key, index_t keys,
                      const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = block.args;
  for (index_t j = 0; j < keys; j += kPanel<T>) {
    const index_t rows = at_most(keys - j, kPanel<T>);
    prefetch_tile_rows(block, key + j, rows);
    pack_transposed(block.k(key + j), args.k.token, rows, args.width, T{1},
                    scratch.keys + j * args.width);
  }
  const MatrixRef<T> q = {scratch.queries, 1, kPanel<T>};
  const Panels<T> k = {scratch.keys, args.width * kPanel<T>, kPanel<T>};
  multiply_block(block.count, args.width, q, k,
                 TileTarget<T>{scratch.few, kKeyTile, whole_panels<T>(keys), false});
  for (index_t j = 0; j < keys; ++j) {
    T* const scores = scratch.scores + j * kQueryBlock;
    for (index_t i = 0; i < kPanel<T>; i += kLanes<T>) store(scores + i, Vec<T>{});
    for (index_t i = 0; i < block.count; ++i) scores[i] = scratch.few[i * kKeyTile + j];
  }
}

/// Scales O, which is relative to an older maximum, to the new maximum.
template <class T>
inline void rescale_sums(const QueryBlock<T>& block, const AttentionScratch<T>& scratch) {
  const index_t width = whole_panels<T>(block.args.v_width);
  for (index_t i = 0; i < block.count; ++i) {
    if (scratch.scale[i] == T{1}) continue;
    T* const row = scratch.out + i * width;
    for (index_t c = 0; c < width; c += kLanes<T>) store(row + c, load(row + c) * scratch.scale[i]);
  }
}

/// Writes O / l to the output; returns the lanes in which O was not finite. Adding 0 changes -0 to
/// 0: otherwise masked keys, which add 0 to a sum of -0, would change the sign of the output.
template <class T>
inline Mask<T> write_output(const QueryBlock<T>& block, const AttentionScratch<T>& scratch) {
  const index_t width = block.args.v_width;
  Mask<T> not_finite = {};
  for (index_t i = 0; i < block.count; ++i) {
    T* const out = block.out() + i * block.args.out.token;
    const T* const sums = scratch.out + i * whole_panels<T>(width);
    for (index_t c = 0; c < width; c += kLanes<T>) {
      const index_t columns = at_most(width - c, kLanes<T>);
      const Vec<T> sum = load_some(sums + c, columns);
      not_finite = not_finite | (sum - sum != Vec<T>{});
      store_some(out + c, sum * scratch.scale[i] + T{0}, columns);
    }
  }
  return not_finite;
}

/// O (+)= P V for one block and some of the tile's keys.
template <class T>
inline void weigh_values(const QueryBlock<T>& block, const KeyTile<T>& tile, index_t key,
                         index_t keys, const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = block.args;
  const index_t row = whole_panels<T>(args.v_width);
  const MatrixRef<T> values = {block.v(tile.first), args.v.token, 1};
  // If V is not copied, all panels except a narrow last one are read in place.
  const index_t in_place = tile.copied ? 0 : args.v_width / kPanel<T> * kPanel<T>;
  if (tile.fresh) {
    pack_panels(values.at(0, in_place), tile.count, args.v_width - in_place, scratch.values);
  }
  const T* const packed = scratch.values + (key - tile.first) * kPanel<T>;
  Panels<T> v = {packed, kPanel<T> * tile.count, kPanel<T>};
  if (!tile.copied) {
    v = {.data = block.v(key),
         .panel_step = kPanel<T>,
         .row_step = values.row,
         .tail = packed,
         .tail_row_step = kPanel<T>};
  }
  const MatrixRef<T> p = {scratch.scores, 1, kQueryBlock};
  multiply_block(
      block.count, keys, p, v,
      TileTarget<T>{scratch.out, row, tile.copied ? row : args.v_width, key > block.keys.begin});
}

/// The same chain of additions, but without terms of weight 0, which may be 0 * NaN.
template <class T>
inline void weigh_values_skipping_zeros(const QueryBlock<T>& block, index_t key, index_t keys,
                                        const AttentionScratch<T>& scratch) {
  const index_t width = block.args.v_width;
  for (index_t i = 0; i < block.count; ++i) {
    T* const out = scratch.out + i * whole_panels<T>(width);
    for (index_t c = 0; c < width; ++c) {
      T sum = key > block.keys.begin ? out[c] : T{0};
      for (index_t j = 0; j < keys; ++j) {
        const T weight = scratch.scores[j * kQueryBlock + i];
        if (weight != T{0}) sum += weight * block.v(key + j)[c];
      }
      out[c] = sum;
    }
  }
}

/// Stores the statistics of a block's queries for the backward pass.
template <class T>
inline void keep_statistics(const QueryBlock<T>& block, const T* maximum, const T* scale) {
  const AttentionArgs<T>& args = block.args;
  const AttentionStatistics<T>& kept = args.statistics;
  if (kept.maxima == nullptr) return;
  const index_t at = (block.batch * args.heads + block.head) * args.queries + block.first;
  for (index_t i = 0; i < block.count; ++i) {
    kept.maxima[at + i] = maximum[i];
    kept.scales[at + i] = scale[i];
  }
}

/// Divides by l after the last key. Returns the lanes in which the sums were not finite.
template <class T>
inline Mask<T> finish_block(const QueryBlock<T>& block, const AttentionScratch<T>& scratch) {
  for (index_t i = 0; i < block.count; ++i) {
    scratch.scale[i] = scratch.sum[i] == T{0} ? T{0} : T{1} / scratch.sum[i];
  }
  keep_statistics(block, scratch.maximum, scratch.scale);
  scale_survivors(block, scratch.scale);
  finish_weights(block, scratch);
  return write_output(block, scratch);
}

/// Processes the keys of one tile that one block sees.
template <class T>
inline void attend_tile(const QueryBlock<T>& block, const KeyTile<T>& tile, bool skip_zeros,
                        const AttentionScratch<T>& scratch) {
  const Range seen = block.keys_in(tile.first, tile.first + tile.count);
  const index_t key = seen.begin;
  const index_t keys = seen.stop - key;
  if (block.count <= kFewQueries) {
    score_few(block, key, keys, scratch);
  } else {
    score_tile(block, tile, key, keys, scratch);
  }
  mask_scores(block, key, keys, scratch.scores);
  const bool is_first = key == block.keys.begin;
  const bool rescale = exponentiate_tile(block, keys, scratch) && !is_first;
  if (rescale) rescale_sums(block, scratch);
  drop_weights(block, key, keys, scratch.scores);
  capture_weights(block, key, keys, rescale, scratch);
  if (key + keys == block.keys.stop) {
    prefetch_rows<Fetch::kForWriting>(block.out(), block.args.out.token, block.count,
                                      block.args.v_width);
  }
  if (skip_zeros) {
    weigh_values_skipping_zeros(block, key, keys, scratch);
  } else {
    weigh_values(block, tile, key, keys, scratch);
  }
}

/// The state before the first key.
template <class T>
inline void start_span(const QueryBlock<T>& span, const AttentionScratch<T>& scratch) {
  for (index_t i = 0; i < span.padded(); ++i) {
    scratch.maximum[i] = -kInfinity<T>;
    scratch.sum[i] = T{0};
    scratch.scale[i] = T{0};
  }
}

/// Writes zeros for the blocks whose queries see no key.
template <class T>
inline void finish_without_keys(const QueryBlock<T>& span, const AttentionScratch<T>& scratch) {
  for (index_t i = 0; i < span.count; i += kQueryBlock) {
    const QueryBlock<T> block = span.block(i);
    if (block.keys.begin < block.keys.stop) continue;
    const AttentionScratch<T> own = scratch.from(span.args, i);
    fill_zeros(own.out, block.count * whole_panels<T>(span.args.v_width));
    finish_block(block, own);
  }
}

/// Processes all tiles for all blocks of a span. Returns whether the output is finite.
template <class T>
inline bool attend_span(const QueryBlock<T>& span, bool skip_zeros,
                        const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = span.args;
  start_span(span, scratch);
  finish_without_keys(span, scratch);
  Mask<T> not_finite = {};
  index_t next = span.keys.begin / kKeyTile * kKeyTile;
  for (; next < span.keys.stop; next += kKeyTile) {
    const Range keys = span.keys_in(next, next + kKeyTile);
    KeyTile<T> tile = {keys.begin, keys.stop - keys.begin, span.count > kPanel<T>, true};
    if (tile.copied) {
      copy_rows(span.k(tile.first), args.k.token, tile.count, args.width, scratch.keys);
    }
    const Range blocks = span.blocks(keys.begin, keys.stop);
    for (index_t i = blocks.begin; i < blocks.stop; i += kQueryBlock) {
      const QueryBlock<T> block = span.block(i);
      const AttentionScratch<T> own = scratch.from(args, i);
      attend_tile(block, tile, skip_zeros, own);
      if (block.keys.stop <= keys.stop) not_finite = not_finite | finish_block(block, own);
      tile.fresh = false;
    }
  }
  return !any_lane<T>(not_finite);
}

template <class T>
inline void attend(const QueryBlock<T>& span, const AttentionScratch<T>& scratch) {
  if (span.keys.begin < span.keys.stop) pack_queries(span, scratch.queries);
  // A masked value may be NaN or infinite, and 0 * NaN is NaN: repeat without the weights of 0.
  if (!attend_span(span, false, scratch)) attend_span(span, true, scratch);
}

/// The number of queries in a span, in whole blocks, limited by kSpanBytes. If the heads cannot be
/// divided evenly among the workers, spans are short enough for 4 per worker, so that all workers
/// stay busy to the end.
template <class T>
inline index_t span_queries(const AttentionArgs<T>& args) {
  const index_t row_bytes =
      (args.width + whole_panels<T>(args.v_width) + 1) * static_cast<index_t>(sizeof(T));
  const index_t heads = args.batch * args.heads;
  const index_t blocks = ceil_div(args.queries, kQueryBlock);
  const bool heads_are_fair =
      heads % args.workers == 0 && args.masks.lengths == nullptr && args.offsets == nullptr;
  index_t most = kSpanBytes / (row_bytes * kQueryBlock);
  if (!heads_are_fair) most = at_most(most, heads * blocks / (4 * args.workers));
  if (most < 1) most = 1;
  return ceil_div(blocks, ceil_div(blocks, most)) * kQueryBlock;
}

template <class T>
index_t attention_workspace(const AttentionArgs<T>& args) noexcept {
  if (args.queries == 0) return 0;
  return args.workers * AttentionScratch<T>::elements(args, span_queries(args));
}

template <class T>
void attention(const AttentionArgs<T>& args) noexcept {
  if (args.queries == 0) return;
  const index_t span = span_queries(args);
  const index_t spans = ceil_div(args.queries, span);
  const index_t tasks = args.batch * args.heads * spans;
  parallel_tasks(tasks, at_most(args.workers, tasks), [&](index_t task, index_t worker) {
    const index_t head = task / spans;
    const index_t batch = head / args.heads;
    const index_t first = task % spans * span;
    const index_t count = at_most(query_count(args, batch) - first, span);
    if (count <= 0) return;
    T* const memory = args.workspace + worker * AttentionScratch<T>::elements(args, span);
    attend<T>({args, batch, head % args.heads, first, count},
              AttentionScratch<T>(memory, args, span));
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
