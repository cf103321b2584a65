// Shared by the parts of attention: the sizes of blocks, a worker's buffers, and ranges of keys.
#pragma once

#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/kernels/tile.h"

namespace tessera::kernels::TESSERA_ISA {

// 48 queries by 128 keys are 24 KiB of float32 scores, which fit an L1 of 32 KiB together with a
// panel of values; an L1 of 48 KiB, as on processors with AVX-512, fits 64 queries. The size of the
// key tile changes bits of the result; the sizes of the query block and the span do not.
inline constexpr index_t kQueryBlock = kVectorBytes == 64 ? 64 : 48;  // a multiple of every kPanel
inline constexpr index_t kKeyTile = 128;

inline constexpr index_t kFewQueries = 4;  // too few to fill the lanes of a panel

// A task is a span of query blocks, which share the copies of a tile of keys and values. The
// queries and outputs of a span, at most 2 MiB, a worker's share of L3, are read in order once per
// tile, while the tile stays in L2.
inline constexpr index_t kSpanBytes = index_t{2} << 20;

template <class T>
inline index_t whole_panels(index_t n) {
  return round_up(n, kPanel<T>);
}

/// A pointer to set, and the number of elements of its buffer.
template <class T>
struct Buffer {
  T*& place;
  index_t elements;
};

/// Places buffers in `memory`, one after the other, and returns the total number of their elements.
/// If `memory` is null, only counts.
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
  T* scale;    // per query: the factor of older sums under a new maximum; finally 1 / l
  // For one tile of keys:
  T* keys;    // (kKeyTile, width)
  T* values;  // panels of all columns, or only the narrow last one
  // For one tile of keys and one block of queries:
  T* scores;  // S^T, then P^T: (kKeyTile, kQueryBlock)
  T* few;     // S of a few queries: (kFewQueries, kKeyTile)

  AttentionScratch(T* memory, const AttentionArgs<T>& args, index_t span) {
    place(memory, args, span);
  }
  static index_t elements(const AttentionArgs<T>& args, index_t span) {
    return AttentionScratch(nullptr, args, 0).place(nullptr, args, span);
  }

  /// The buffers for the span's queries from `i` on.
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

/// Positions [begin, stop); empty if stop <= begin.
struct Range {
  index_t begin, stop;
};

/// The range of a sequence's tokens along the axes of queries and keys: [0, all), unless sequences
/// are packed.
template <class T>
inline Range rows_of(const AttentionArgs<T>& args, index_t batch, index_t all) {
  if (args.offsets == nullptr) return {0, all};
  return {args.offsets[batch], args.offsets[batch + 1]};
}

/// The number of queries of a sequence.
template <class T>
inline index_t query_count(const AttentionArgs<T>& args, index_t batch) {
  const Range rows = rows_of(args, batch, args.queries);
  return rows.stop - rows.begin;
}

/// The number of keys of a sequence, masked or not.
template <class T>
inline index_t key_count(const AttentionArgs<T>& args, index_t batch) {
  const Range rows = rows_of(args, batch, args.keys);
  return rows.stop - rows.begin;
}

/// The range of keys that at least one of the queries [first, first + count) sees, by the causal,
/// window and length masks.
template <class T>
inline Range keys_of_queries(const AttentionArgs<T>& args, index_t batch, index_t first,
                             index_t count) {
  const index_t keys = key_count(args, batch);
  const AttentionMasks<T>& masks = args.masks;
  const index_t length = masks.lengths != nullptr ? at_most(masks.lengths[batch], keys) : keys;
  const index_t ahead = masks.causal ? 0 : masks.window;
  return {at_least(first - masks.window, 0), at_most(length, first + count + ahead)};
}

/// The range of queries in [0, queries) that see at least one of the keys [begin, stop); these keys
/// are all below the sequence's length.
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
  Range keys = keys_of_queries(args, batch, first, count);  // all that they see
  index_t row = rows_of(args, batch, 0).begin;              // the sequence's first row

  const T* q() const { return at(args.q, first); }
  const T* k(index_t j) const { return of_group(args.k, j); }
  const T* v(index_t j) const { return of_group(args.v, j); }
  T* out() const { return at(args.out, first); }
  /// Token t of the head.
  template <class U>
  U* at(const Heads<U>& x, index_t t) const {
    return at(x, head, t);
  }
  /// Token t of the head of keys, values or their gradients that this head of queries reads.
  template <class U>
  U* of_group(const Heads<U>& x, index_t t) const {
    return at(x, head / args.group, t);
  }
  /// Token t of head h.
  template <class U>
  U* at(const Heads<U>& x, index_t h, index_t t) const {
    const index_t sequence = args.offsets == nullptr ? batch * x.batch : 0;
    return x.data + sequence + h * x.head + (row + t) * x.token;
  }
  /// The element of the first query and key `key`.
  template <class U>
  U* at(const PerScore<U>& x, index_t key) const {
    return x.data + batch * x.batch + head * x.head + first * x.query + key * x.key;
  }

  /// `count` rounded up to whole panels; the rest of the last panel is zeros.
  index_t padded() const { return whole_panels<T>(count); }

  /// The block that begins at query `i` of the span, a multiple of kQueryBlock.
  QueryBlock block(index_t i) const {
    return {args, batch, head, first + i, at_most(count - i, kQueryBlock)};
  }
  /// The range of queries whose blocks see at least one of the keys [begin, stop), a part of
  /// `keys`.
  Range blocks(index_t begin, index_t stop) const {
    const Range queries = queries_of_keys(args.masks, first + count, begin, stop);
    return {at_least(queries.begin - first, 0) / kQueryBlock * kQueryBlock,
            at_most(queries.stop - first, count)};
  }
  /// The part of `keys` in [begin, stop).
  Range keys_in(index_t begin, index_t stop) const {
    return {at_least(begin, keys.begin), at_most(stop, keys.stop)};
  }
};

}  // namespace tessera::kernels::TESSERA_ISA
