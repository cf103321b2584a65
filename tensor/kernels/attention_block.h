// What the parts of attention share: the sizes of its blocks, and a worker's buffers.
#pragma once

#include "tensor/kernels/table.h"
#include "tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

// 48 queries by 128 keys are 24 KiB of float32 scores, which an L1 of 32 KiB holds with a
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

/// A pointer to be set, and the elements that its buffer needs.
template <class T>
struct Buffer {
  T*& place;
  index_t elements;
};

/// Places buffers in `memory`, one after the other, and returns the number of all their elements.
/// If `memory` is null it only counts.
template <class T, int kCount>
inline index_t carve(T* memory, const Buffer<T> (&buffers)[kCount]) {
  index_t taken = 0;
  for (const Buffer<T>& buffer : buffers) {
    buffer.place = memory == nullptr ? nullptr : memory + taken;
    taken += buffer.elements;
  }
  return taken;
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

  AttentionScratch(T* memory, const AttentionArgs<T>& args, index_t span) {
    place(memory, args, span);
  }
  static index_t elements(const AttentionArgs<T>& args, index_t span) {
    return AttentionScratch(nullptr, args, 0).place(nullptr, args, span);
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

 private:
  index_t place(T* memory, const AttentionArgs<T>& args, index_t span) {
    const index_t v_width = whole_panels<T>(args.v_width);
    return carve<T>(memory, {{queries, span * args.width},
                             {out, span * v_width},
                             {maximum, span},
                             {sum, span},
                             {scale, span},
                             {keys, kKeyTile * args.width},
                             {values, kKeyTile * v_width},
                             {scores, kKeyTile * kQueryBlock},
                             {few, kKeyTile * kFewQueries}});
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
  const AttentionMasks<T>& masks = args.masks;
  const index_t length = masks.lengths != nullptr ? at_most(masks.lengths[batch], keys) : keys;
  const index_t ahead = masks.causal ? 0 : masks.window;
  return {at_least(first - masks.window, 0), at_most(length, first + count + ahead)};
}

/// The queries, of `queries`, that see some of the keys [begin, stop), all of them below the length.
template <class T>
inline Range queries_of_keys(const AttentionMasks<T>& masks, index_t queries, index_t begin,
                             index_t stop) {
  const index_t ahead = masks.causal ? 0 : masks.window;
  return {at_most(at_least(begin - ahead, 0), queries), at_most(stop + masks.window, queries)};
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

  const T* q() const { return at(args.q, first); }
  const T* k(index_t j) const { return at(args.k, j); }
  const T* v(index_t j) const { return at(args.v, j); }
  T* out() const { return at(args.out, first); }
  /// Token t of the head.
  template <class U>
  U* at(const Heads<U>& x, index_t t) const {
    const index_t sequence = args.offsets == nullptr ? batch * x.batch : 0;
    return x.data + sequence + head * x.head + (row + t) * x.token;
  }
  /// The element of the first query and of `key`.
  template <class U>
  U* at(const PerScore<U>& x, index_t key) const {
    return x.data + batch * x.batch + head * x.head + first * x.query + key * x.key;
  }

  /// `count` in whole panels; what follows `count` in the last panel is zeros.
  index_t padded() const { return whole_panels<T>(count); }

  /// The block from the span's query `i` on, a multiple of kQueryBlock.
  QueryBlock block(index_t i) const {
    return {args, batch, head, first + i, at_most(count - i, kQueryBlock)};
  }
  /// Where the blocks that see some of the keys [begin, stop), a part of `keys`, begin and stop.
  Range blocks(index_t begin, index_t stop) const {
    const Range queries = queries_of_keys(args.masks, first + count, begin, stop);
    return {at_least(queries.begin - first, 0) / kQueryBlock * kQueryBlock,
            at_most(queries.stop - first, count)};
  }
  /// Those of `keys` that lie in [begin, stop).
  Range keys_in(index_t begin, index_t stop) const {
    return {at_least(begin, keys.begin), at_most(stop, keys.stop)};
  }
};

}  // namespace tessera::kernels::TESSERA_ISA
