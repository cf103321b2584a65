// What the parts of attention share: the sizes of its blocks, and a worker's buffers.
#pragma once

#include "tensor/kernels/table.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

// 48 queries by 128 keys are 24 KiB of float32 scores, which an L1 of 32 KiB holds beside a
// panel of values; 48 KiB, as machines with AVX-512 have, hold 64 queries. The key tile is part of
// the result's definition; the query block and the span are not.
inline constexpr index_t kQueryBlock = kVectorBytes == 64 ? 64 : 48;  // a multiple of every kPanel
inline constexpr index_t kKeyTile = 128;

inline constexpr index_t kFewQueries = 4;  // fewer than would fill the lanes of a panel

// A worker's task is a span of query blocks: they share the copies of a tile of keys and values.
// Its queries and outputs, 2 MiB at most, a share of L3, go by in order, once for each tile, while
// L2 keeps the tile.
inline constexpr index_t kSpanBytes = index_t{2} << 20;

template <class T>
inline index_t whole_panels(index_t n) {
  return round_up(n, kPanel<T>);
}

/// One worker's buffers, carved from AttentionArgs::workspace.
template <class T>
struct AttentionScratch {
  // For the queries of a span:
  T* queries;  // Q^T, scaled: panels of (width, kPanel)
  T* out;      // O, not yet divided by l: rows of whole_panels(v_width)
  T* maximum;  // m per query
  T* sum;      // l per query
  T* scale;    // per query, what a tile's new maximum scales older sums by; at last 1 / l
  // For one tile of keys:
  T* keys;    // (kKeyTile, width)
  T* values;  // panels: of all columns, or of the last, narrow one
  // For one tile of keys and one block of queries:
  T* scores;  // S^T, then P^T: (kKeyTile, kQueryBlock)
  T* few;     // S of a few queries: (kFewQueries, kKeyTile)

  static index_t elements(const AttentionArgs<T>& args, index_t span) {
    const index_t v_width = whole_panels<T>(args.v_width);
    return span * (args.width + v_width + 3) +
           kKeyTile * (args.width + v_width + kQueryBlock + kFewQueries);
  }

  AttentionScratch(T* memory, const AttentionArgs<T>& args, index_t span) {
    const auto take = [&](index_t count) {
      T* const taken = memory;
      memory += count;
      return taken;
    };
    const index_t v_width = whole_panels<T>(args.v_width);
    queries = take(span * args.width);
    out = take(span * v_width);
    maximum = take(span);
    sum = take(span);
    scale = take(span);
    keys = take(kKeyTile * args.width);
    values = take(kKeyTile * v_width);
    scores = take(kKeyTile * kQueryBlock);
    few = take(kKeyTile * kFewQueries);
  }

  /// The same, for the span's queries from `i` on.
  AttentionScratch from(const AttentionArgs<T>& args, index_t i) const {
    AttentionScratch rest = *this;
    rest.queries += i * args.width;
    rest.out += i * whole_panels<T>(args.v_width);
    rest.maximum += i;
    rest.sum += i;
    rest.scale += i;
    return rest;
  }
};

template <class T>
inline void fill_zeros(T* to, index_t count) {
  for (index_t i = 0; i < count; ++i) to[i] = T{0};
}

/// Positions [begin, stop); none where stop <= begin.
struct Range {
  index_t begin, stop;
};

/// Where the tokens of a sequence begin and stop along the axes of queries and keys; `all` is what
/// each sequence has unless they are packed.
template <class T>
inline Range rows_of(const AttentionArgs<T>& args, index_t batch, index_t all) {
  if (args.offsets == nullptr) return {0, all};
  return {args.offsets[batch], args.offsets[batch + 1]};
}

/// How many queries a sequence has.
template <class T>
inline index_t query_count(const AttentionArgs<T>& args, index_t batch) {
  const Range rows = rows_of(args, batch, args.queries);
  return rows.stop - rows.begin;
}

/// How many keys a sequence has, masked or not.
template <class T>
inline index_t key_count(const AttentionArgs<T>& args, index_t batch) {
  const Range rows = rows_of(args, batch, args.keys);
  return rows.stop - rows.begin;
}

/// The keys that some of the queries [first, first + count) see, by the masks that are ranges.
template <class T>
inline Range keys_of_queries(const AttentionArgs<T>& args, index_t batch, index_t first,
                             index_t count) {
  const index_t keys = key_count(args, batch);
  const index_t length = args.lengths != nullptr ? at_most(args.lengths[batch], keys) : keys;
  const index_t ahead = args.causal ? 0 : args.window;
  return {at_least(first - args.window, 0), at_most(length, first + count + ahead)};
}

/// The queries, of `queries`, that see some of the keys [begin, stop), all of them below the length.
template <class T>
inline Range queries_of_keys(const AttentionArgs<T>& args, index_t queries, index_t begin,
                             index_t stop) {
  const index_t ahead = args.causal ? 0 : args.window;
  return {at_most(at_least(begin - ahead, 0), queries), at_most(stop + args.window, queries)};
}

/// Some queries of one head: a worker's span, or one block of it.
template <class T>
struct QueryBlock {
  const AttentionArgs<T>& args;
  index_t batch, head;
  index_t first;                                            // the first query
  index_t count;                                            // queries
  Range keys = keys_of_queries(args, batch, first, count);  // none of them sees another
  index_t row = rows_of(args, batch, 0).begin;              // the sequence's first

  const T* q() const { return at(args.q, args.q_strides, first); }
  const T* k(index_t j) const { return at(args.k, args.k_strides, j); }
  const T* v(index_t j) const { return at(args.v, args.v_strides, j); }
  T* out() const { return const_cast<T*>(at(args.out, args.out_strides, first)); }

  /// `count` in whole panels; what follows `count` in the last panel is zeros.
  index_t padded() const { return whole_panels<T>(count); }

  /// The block from the span's query `i` on, a multiple of kQueryBlock.
  QueryBlock block(index_t i) const {
    return {args, batch, head, first + i, at_most(count - i, kQueryBlock)};
  }
  /// Where the blocks that see some of the keys [begin, stop), a part of `keys`, begin and stop.
  Range blocks(index_t begin, index_t stop) const {
    const Range queries = queries_of_keys(args, first + count, begin, stop);
    return {at_least(queries.begin - first, 0) / kQueryBlock * kQueryBlock,
            at_most(queries.stop - first, count)};
  }
  /// Those of `keys` that lie in [begin, stop).
  Range keys_in(index_t begin, index_t stop) const {
    return {at_least(begin, keys.begin), at_most(stop, keys.stop)};
  }

 private:
  const T* at(const T* base, const index_t (&strides)[3], index_t t) const {
    return base + batch * strides[0] + head * strides[1] + (row + t) * strides[2];
  }
};

}  // namespace tessera::kernels::TESSERA_ISA
