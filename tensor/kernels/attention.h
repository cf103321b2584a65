// Fused attention: softmax(Q K^T scale + masks) V without the T x T matrix in memory.
//
// For a block of queries the keys go by in tiles, and both products of a tile are multiply_block of
// gemm.h:
//
//   S^T (keys x queries)  = K tile . Q^T      K read in place, Q^T packed once per block, scaled
//   P^T                   = 2^(S^T - m)       lanes are queries: running maximum m and sum l are
//                                             plain vector operations, no sum crosses lanes
//   O  (queries x width) += P . V tile        P read from P^T by strides, V read in place
//
// When a tile raises a query's maximum, what was summed before is scaled by 2^(m_old - m_new).
//
// **The same bits.** A query's result depends on its own row of scores alone: tiles start at key 0
// and have a constant size, so neighbours, threads and vector width do not matter. A masked key has
// weight exactly 0 and leaves m, l and O as they are, so keys masked at the end equal keys that are
// not there.
//
// **Source**: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et
// al., "FlashAttention", 2022, Algorithm 1.
#pragma once

#include "tensor/kernels/gemm.h"
#include "tensor/kernels/math.h"

namespace tessera::kernels::TESSERA_ISA {

// 64 queries by 128 keys are 32 KiB of float32 scores, and 32 KiB each of keys and values of width
// 64: together with the packed queries well within a second cache. The key tile is part of the
// result's definition; the query block is not.
inline constexpr index_t kQueryBlock = 64;  // a multiple of every kPanel
inline constexpr index_t kKeyTile = 128;
inline constexpr double kLog2E = 1.4426950408889634;

/// One worker's buffers, carved from AttentionArgs::workspace.
template <class T>
struct AttentionScratch {
  T* queries;  // Q^T: panels of (width, kPanel)
  T* scores;   // S^T, then P^T: (kKeyTile, kQueryBlock)
  T* v_tail;   // the last, narrow panel of a V tile: (kKeyTile, kPanel)
  T* maximum;  // m per query
  T* sum;      // l per query
  T* scale;    // what the tile's new maximum scales older sums by, per query

  static index_t elements(index_t width) {
    return kQueryBlock * (width + kKeyTile + 3) + kKeyTile * kPanel<T>;
  }
  AttentionScratch(T* memory, index_t width) {
    queries = memory;
    scores = queries + kQueryBlock * width;
    v_tail = scores + kQueryBlock * kKeyTile;
    maximum = v_tail + kKeyTile * kPanel<T>;
    sum = maximum + kQueryBlock;
    scale = sum + kQueryBlock;
  }
};

/// One block of queries of one head.
template <class T>
struct QueryBlock {
  const AttentionArgs<T>& args;
  index_t batch, head;
  index_t first;     // the block's first query
  index_t count;     // queries in the block
  index_t padded;    // count rounded up to whole panels; the rest are zeros
  index_t key_stop;  // no query of the block sees a key from here on

  const T* q() const { return at(args.q, args.q_strides, first); }
  const T* k(index_t j) const { return at(args.k, args.k_strides, j); }
  const T* v(index_t j) const { return at(args.v, args.v_strides, j); }
  T* out() const { return const_cast<T*>(at(args.out, args.out_strides, first)); }

 private:
  const T* at(const T* base, const index_t (&strides)[3], index_t t) const {
    return base + batch * strides[0] + head * strides[1] + t * strides[2];
  }
};

template <class T>
inline void pack_queries(const QueryBlock<T>& block, T* queries) {
  const index_t width = block.args.width;
  const T scale = static_cast<T>(static_cast<double>(block.args.scale) * kLog2E);
  const MatrixRef<T> transposed = {block.q(), 1, block.args.q_strides[2]};
  for (index_t i = 0; i < block.padded; i += kPanel<T>) {
    T* panel = queries + i * width;
    pack_panel(transposed.at(0, i), width, at_most(block.count - i, kPanel<T>), panel);
    for (index_t p = 0; p < width * kPanel<T>; p += kLanes<T>) {
      store(panel + p, load(panel + p) * broadcast(scale));
    }
  }
}

/// Overwrites masked scores with -inf and adds the bias.
template <class T>
inline void mask_scores(const QueryBlock<T>& block, index_t key, index_t keys, T* scores) {
  const AttentionArgs<T>& args = block.args;
  if (args.causal && key + keys > block.first) {
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count && block.first + i < key + j; ++i) {
        scores[j * kQueryBlock + i] = -kInfinity<T>;
      }
    }
  }
  const auto offset = [&](const index_t(&strides)[4]) {
    return block.batch * strides[0] + block.head * strides[1] + block.first * strides[2] +
           key * strides[3];
  };
  if (args.keep != nullptr) {
    const index_t(&s)[4] = args.keep_strides;
    const bool* keep = args.keep + offset(s);
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count; ++i) {
        if (!keep[i * s[2] + j * s[3]]) scores[j * kQueryBlock + i] = -kInfinity<T>;
      }
    }
  }
  if (args.bias != nullptr) {
    const index_t(&s)[4] = args.bias_strides;
    const T* bias = args.bias + offset(s);
    for (index_t j = 0; j < keys; ++j) {
      for (index_t i = 0; i < block.count; ++i) {
        T& score = scores[j * kQueryBlock + i];
        const T b = bias[i * s[2] + j * s[3]];
        if (b == -kInfinity<T>) {
          score = b;  // not score + b, which would let a NaN score through
        } else {
          // A bias near the end of the range, often used as a mask, must not turn into infinity
          // here.
          const T scaled = b * static_cast<T>(kLog2E);
          score += scaled < -kLargest<T>  ? -kLargest<T>
                   : scaled > kLargest<T> ? kLargest<T>
                                          : scaled;
        }
      }
    }
  }
}

/// The scores of one tile of keys, masked.
template <class T>
inline void score_tile(const QueryBlock<T>& block, index_t key, index_t keys,
                       const AttentionScratch<T>& scratch) {
  const index_t width = block.args.width;
  const MatrixRef<T> k = {block.k(key), block.args.k_strides[2], 1};
  const Panels<T> queries = {scratch.queries, width * kPanel<T>, kPanel<T>, nullptr, 0};
  multiply_block(keys, block.padded, width, k, queries, scratch.scores, kQueryBlock, false);
  mask_scores(block, key, keys, scratch.scores);
}

/// The finite stand-in for a maximum: a query that has seen no key yet has m = -inf, and -inf -
/// -inf would be NaN.
template <class T>
inline Vec<T> finite_maximum(Vec<T> m) {
  return m == broadcast(-kInfinity<T>) ? Vec<T>{} : m;
}

/// Scores to weights relative to the running maximum, which the tile may raise.
/// Returns whether any query's older sums must be scaled.
template <class T>
inline bool exponentiate_tile(const QueryBlock<T>& block, index_t keys,
                              const AttentionScratch<T>& scratch) {
  bool rescale = false;
  for (index_t i = 0; i < block.padded; i += kLanes<T>) {
    T* column = scratch.scores + i;
    const Vec<T> m_old = load(scratch.maximum + i);
    Vec<T> m = m_old;
    for (index_t j = 0; j < keys; ++j) m = max(load(column + j * kQueryBlock), m);
    const Vec<T> shift = finite_maximum<T>(m);
    const Vec<T> scale = exp2_of_negative(m_old - shift);
    Vec<T> sum = rounded(load(scratch.sum + i) * scale);
    for (index_t j = 0; j < keys; ++j) {
      const Vec<T> p = exp2_of_negative(load(column + j * kQueryBlock) - shift);
      store(column + j * kQueryBlock, p);
      sum = sum + p;
    }
    store(scratch.maximum + i, m);
    store(scratch.sum + i, sum);
    store(scratch.scale + i, scale);
    for (index_t lane = 0; lane < kLanes<T>; ++lane) rescale = rescale || scale[lane] != T{1};
  }
  return rescale;
}

/// Adding 0 turns -0 into 0: a masked key, whose weight of 0 is added to a sum of -0, would change
/// its sign otherwise.
template <class T>
inline void scale_rows(T* rows, index_t row_stride, index_t count, index_t width,
                       const T* factors) {
  for (index_t i = 0; i < count; ++i) {
    T* row = rows + i * row_stride;
    const Vec<T> factor = broadcast(factors[i]);
    index_t j = 0;
    for (; j + kLanes<T> <= width; j += kLanes<T>) store(row + j, load(row + j) * factor + T{0});
    if (j < width)
      store_partial(row + j, load_partial(row + j, width - j) * factor + T{0}, width - j);
  }
}

template <class T>
inline bool all_finite(const T* rows, index_t row_stride, index_t count, index_t width) {
  Mask<T> found = {};
  const auto look = [&](Vec<T> x) { found = found | (x - x != Vec<T>{}); };
  for (index_t i = 0; i < count; ++i) {
    const T* row = rows + i * row_stride;
    index_t j = 0;
    for (; j + kLanes<T> <= width; j += kLanes<T>) look(load(row + j));
    if (j < width) look(load_partial(row + j, width - j));
  }
  return !any_lane<T>(found);
}

/// O (+)= P V for one tile.
template <class T>
inline void weigh_values(const QueryBlock<T>& block, index_t key, index_t keys,
                         const AttentionScratch<T>& scratch) {
  const index_t width = block.args.v_width;
  const index_t v_row = block.args.v_strides[2];
  const index_t full = width / kPanel<T> * kPanel<T>;
  if (full < width) {
    pack_panel({block.v(key) + full, v_row, 1}, keys, width - full, scratch.v_tail);
  }
  const Panels<T> v = {block.v(key), kPanel<T>, v_row, scratch.v_tail, kPanel<T>};
  const MatrixRef<T> p = {scratch.scores, 1, kQueryBlock};
  multiply_block(block.count, width, keys, p, v, block.out(), block.args.out_strides[2], key > 0);
}

/// The same chain of additions, but terms of weight 0 are left out instead of adding 0 * NaN.
template <class T>
inline void weigh_values_skipping_zeros(const QueryBlock<T>& block, index_t key, index_t keys,
                                        const T* weights) {
  for (index_t i = 0; i < block.count; ++i) {
    T* out = block.out() + i * block.args.out_strides[2];
    for (index_t c = 0; c < block.args.v_width; ++c) {
      T sum = key > 0 ? out[c] : T{0};
      for (index_t j = 0; j < keys; ++j) {
        const T weight = weights[j * kQueryBlock + i];
        if (weight != T{0}) sum += weight * block.v(key + j)[c];
      }
      out[c] = sum;
    }
  }
}

/// m, l and O over all tiles, O not yet divided by l.
template <class T>
inline void sum_tiles(const QueryBlock<T>& block, bool skip_zeros,
                      const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = block.args;
  for (index_t i = 0; i < kQueryBlock; ++i) {
    scratch.maximum[i] = -kInfinity<T>;
    scratch.sum[i] = T{0};
  }
  for (index_t key = 0; key < block.key_stop; key += kKeyTile) {
    const index_t keys = at_most(block.key_stop - key, kKeyTile);
    score_tile(block, key, keys, scratch);
    const bool rescale = exponentiate_tile(block, keys, scratch);
    if (rescale && key > 0) {
      scale_rows(block.out(), args.out_strides[2], block.count, args.v_width, scratch.scale);
    }
    if (skip_zeros) {
      weigh_values_skipping_zeros(block, key, keys, scratch.scores);
    } else {
      weigh_values(block, key, keys, scratch);
    }
  }
}

/// The normalised weights of the block, from the same scores once more, now that m and l are final.
template <class T>
inline void write_weights(const QueryBlock<T>& block, const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = block.args;
  const index_t(&s)[3] = args.weights_strides;
  T* weights = args.weights + block.batch * s[0] + block.head * s[1] + block.first * s[2];
  for (index_t key = 0; key < block.key_stop; key += kKeyTile) {
    const index_t keys = at_most(block.key_stop - key, kKeyTile);
    score_tile(block, key, keys, scratch);
    for (index_t i = 0; i < block.padded; i += kLanes<T>) {
      const Vec<T> shift = finite_maximum<T>(load(scratch.maximum + i));
      const Vec<T> inverse = load(scratch.scale + i);
      for (index_t j = 0; j < keys; ++j) {
        T* p = scratch.scores + j * kQueryBlock + i;
        store(p, exp2_of_negative(load(p) - shift) * inverse);
      }
    }
    for (index_t i = 0; i < block.count; ++i) {
      for (index_t j = 0; j < keys; ++j) {
        weights[i * s[2] + key + j] = scratch.scores[j * kQueryBlock + i];
      }
    }
  }
  for (index_t i = 0; i < block.count; ++i) {
    for (index_t j = block.key_stop; j < args.keys; ++j) weights[i * s[2] + j] = T{0};
  }
}

template <class T>
inline void attend(const QueryBlock<T>& block, const AttentionScratch<T>& scratch) {
  const AttentionArgs<T>& args = block.args;
  const index_t out_row = args.out_strides[2];
  if (block.key_stop == 0) {
    for (index_t i = 0; i < block.count; ++i) {
      for (index_t c = 0; c < args.v_width; ++c) block.out()[i * out_row + c] = T{0};
    }
  }
  pack_queries(block, scratch.queries);
  sum_tiles(block, false, scratch);
  // A value behind a mask may be NaN or infinite, and shows here as 0 * NaN: once more, with care.
  if (!all_finite(block.out(), out_row, block.count, args.v_width)) {
    sum_tiles(block, true, scratch);
  }
  for (index_t i = 0; i < kQueryBlock; ++i) {
    scratch.scale[i] = scratch.sum[i] == T{0} ? T{0} : T{1} / scratch.sum[i];
  }
  scale_rows(block.out(), out_row, block.count, args.v_width, scratch.scale);
  if (args.weights != nullptr) write_weights(block, scratch);
}

template <class T>
index_t attention_workspace(const AttentionArgs<T>& args) noexcept {
  return args.workers * AttentionScratch<T>::elements(args.width);
}

template <class T>
void attention(const AttentionArgs<T>& args) noexcept {
  const index_t blocks = ceil_div(args.queries, kQueryBlock);
  const index_t tasks = args.batch * args.heads * blocks;
  parallel_tasks(tasks, at_most(args.workers, tasks), [&](index_t task, index_t worker) {
    const index_t head_number = task / blocks;
    const index_t batch = head_number / args.heads;
    const index_t first = task % blocks * kQueryBlock;
    const index_t count = at_most(args.queries - first, kQueryBlock);
    index_t key_stop =
        args.lengths != nullptr ? at_most(args.lengths[batch], args.keys) : args.keys;
    if (args.causal) key_stop = at_most(key_stop, first + count);
    const QueryBlock<T> block = {
        .args = args,
        .batch = batch,
        .head = head_number % args.heads,
        .first = first,
        .count = count,
        .padded = ceil_div(count, kPanel<T>) * kPanel<T>,
        .key_stop = key_stop,
    };
    T* memory = args.workspace + worker * AttentionScratch<T>::elements(args.width);
    attend(block, AttentionScratch<T>(memory, args.width));
  });
}

}  // namespace tessera::kernels::TESSERA_ISA
