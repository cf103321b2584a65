// The backward of fused attention, without a T x T matrix in memory.
//
// The weights are computed again, tile by tile, from Q, K and the two numbers per query that the
// forward leaves, m and 1 / l. For a tile of keys and a block of queries there are five products, all
// of tile.h's register tiles; lanes are queries in the first two, columns in the others:
//
//   S^T  (keys x queries)   = K . Q^T
//   dP^T (keys x queries)   = V . dO^T
//   P^T = 2^(S^T - m) / l     dS^T = P^T o (dP^T - D)      D = sum over columns of dO o O
//   dV   (keys x width)    += P^T . dO
//   dK   (keys x width)    += dS^T . Q
//   dQ   (queries x width) += dS . K
//
// **The same bits.** An element of dV or dK is one chain over the queries in their order, one of dQ
// a chain over the keys, and sums pass from tile to tile through memory unchanged. So work may be cut
// anywhere: where there are heads enough a worker takes one as a whole; else the keys and the
// queries are cut into parts, each of which computes the weights that it needs.
//
// **What is masked.** Its weight is 0, and so is its dS whatever dP is. Packed copies hold 0 for what
// is not finite, so that nothing shows through a weight of 0; through others it shows all the
// same, because S or D are then NaN.
//
// **Source**: Dao et al., "FlashAttention", 2022, Algorithm 4.
#pragma once

#include "tensor/kernels/attention_backward_parts.h"

namespace tessera::kernels::TESSERA_ISA {

/// kKeys rows of S^T and dP^T, two vectors of queries in each, become P^T and dS^T.
template <class T, int kKeys>
[[gnu::always_inline]] inline void differentiate(T* weights, T* d_scores,
                                                 const Vec<T> (&maximum)[kTileVectors],
                                                 const Vec<T> (&scale)[kTileVectors],
                                                 const Vec<T> (&delta)[kTileVectors]) {
  constexpr int kCount = kKeys * kTileVectors;
  const auto at = [](int i) {
    return i / kTileVectors * kQueryBlock + i % kTileVectors * kLanes<T>;
  };
  Vec<T> p[kCount];
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p[i] = load(weights + at(i)) - maximum[i % kTileVectors];
  exp2_of_negatives<T>(p);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    const Mask<T> used = p[i] != Vec<T>{};
    const Vec<T> weight = p[i] * scale[i % kTileVectors];
    const Vec<T> d_score = weight * (load(d_scores + at(i)) - delta[i % kTileVectors]);
    store(weights + at(i), used ? weight : Vec<T>{});
    store(d_scores + at(i), used ? d_score : Vec<T>{});
  }
}

/// S^T and dP^T of `keys` keys become P^T and dS^T.
template <class T>
inline void differentiate_tile(const QueryBlock<T>& block, index_t keys,
                               const BackwardScratch<T>& scratch) {
  for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
    Vec<T> maximum[kTileVectors], scale[kTileVectors], delta[kTileVectors];
    for (int v = 0; v < kTileVectors; ++v) {
      maximum[v] = load(scratch.maximum + i + v * kLanes<T>);
      scale[v] = load(scratch.scale + i + v * kLanes<T>);
      delta[v] = load(scratch.delta + i + v * kLanes<T>);
    }
    T* const weights = scratch.weights + i;
    T* const d_scores = scratch.d_scores + i;
    index_t j = 0;
    for (; j + 2 <= keys; j += 2) {
      differentiate<T, 2>(weights + j * kQueryBlock, d_scores + j * kQueryBlock, maximum, scale,
                          delta);
    }
    if (j < keys) {
      differentiate<T, 1>(weights + j * kQueryBlock, d_scores + j * kQueryBlock, maximum, scale,
                          delta);
    }
  }
}

/// (keys x queries) = rows of K or V times the queries' columns.
template <class T>
inline void multiply_columns(const QueryBlock<T>& block, index_t keys, index_t width, const T* rows,
                             const T* columns, T* out) {
  multiply_block(keys, block.padded(), width, MatrixRef<T>{rows, width, 1},
                 Panels<T>{columns, kPanel<T> * width, kPanel<T>, nullptr, 0}, out, kQueryBlock,
                 false);
}

/// `sums` (rows of whole panels) += A times `depth` rows in panels, which hold `step` rows each.
template <class T>
inline void add_product(index_t rows, index_t width, index_t depth, MatrixRef<T> a, const T* panels,
                        index_t step, T* sums) {
  const index_t whole = whole_panels<T>(width);
  multiply_block(rows, whole, depth, a, Panels<T>{panels, kPanel<T> * step, kPanel<T>, nullptr, 0},
                 sums, whole, true);
}

/// Sums relative to the scores, times what scores were scaled by, to where they belong. Adding 0
/// turns -0 into 0: a masked key that adds 0 to a sum of -0 would change its sign otherwise.
template <class T>
inline void write_sums(const T* sums, index_t rows, index_t width, T scale, T* to, index_t stride) {
  for (index_t i = 0; i < rows; ++i) {
    for (index_t c = 0; c < width; c += kLanes<T>) {
      const Vec<T> sum = load(sums + i * whole_panels<T>(width) + c);
      store_some(to + i * stride + c, sum * scale + T{0}, at_most(width - c, kLanes<T>));
    }
  }
}

/// Adds a tile's dS to the bias's gradient. A bias that is the same for all keys changes no weight:
/// its gradient is 0.
template <class T>
inline void add_bias_gradient(const AttentionBackwardArgs<T>& args, const QueryBlock<T>& block,
                              index_t key, index_t keys, const T* d_scores) {
  const index_t(&s)[4] = args.d_bias_strides;
  if (args.d_bias == nullptr || s[3] == 0) return;
  T* const to = args.d_bias + block.batch * s[0] + block.head * s[1] + block.first * s[2];
  for (index_t j = 0; j < keys; ++j) {
    for (index_t i = 0; i < block.count; ++i) {
      to[i * s[2] + (key + j) * s[3]] += d_scores[j * kQueryBlock + i];
    }
  }
}

/// What a part of the work is to find.
struct Wanted {
  bool of_queries;  // dq
  bool of_keys;     // dk, dv and the bias's gradient
};

/// One tile of keys for one block of queries.
template <class T>
inline void backward_tile(const AttentionBackwardArgs<T>& args, const QueryBlock<T>& block,
                          index_t key, index_t tile_keys, const Wanted& wanted,
                          const BackwardScratch<T>& scratch) {
  const AttentionArgs<T>& forward = args.forward;
  const index_t keys = at_most(block.key_stop - key, tile_keys);
  multiply_columns(block, keys, forward.width, scratch.k, scratch.q_columns, scratch.weights);
  mask_scores(block, key, keys, scratch.weights);
  multiply_columns(block, keys, forward.v_width, scratch.v, scratch.d_out_columns,
                   scratch.d_scores);
  differentiate_tile(block, keys, scratch);
  if (wanted.of_keys) {
    const auto by_keys = [](const T* data) { return MatrixRef<T>{data, kQueryBlock, 1}; };
    add_product(keys, forward.v_width, block.count, by_keys(scratch.weights), scratch.d_out,
                block.count, scratch.dv);
    add_product(keys, forward.width, block.count, by_keys(scratch.d_scores), scratch.q, block.count,
                scratch.dk);
    add_bias_gradient(args, block, key, keys, scratch.d_scores);
  }
  if (wanted.of_queries) {
    add_product(block.count, forward.width, keys, MatrixRef<T>{scratch.d_scores, 1, kQueryBlock},
                scratch.k_panels, tile_keys, scratch.dq);
  }
}

/// The gradients that belong to the queries of `part` or to its keys, [key_first, key_end). Keys
/// from key_stop on, which no query uses, get zeros.
template <class T>
inline void backward_part(const AttentionBackwardArgs<T>& args, const QueryBlock<T>& part,
                          index_t key_first, index_t key_end, const Wanted& wanted,
                          const BackwardScratch<T>& scratch) {
  const AttentionArgs<T>& forward = args.forward;
  const auto place = [&](T* base, const index_t(&s)[3], index_t t) {
    return base + part.batch * s[0] + part.head * s[1] + t * s[2];
  };
  const auto write_tile = [&](index_t key, index_t keys) {
    write_sums(scratch.dk, keys, forward.width, forward.scale, place(args.dk, args.dk_strides, key),
               args.dk_strides[2]);
    write_sums(scratch.dv, keys, forward.v_width, T{1}, place(args.dv, args.dv_strides, key),
               args.dv_strides[2]);
  };
  for (index_t i = 0; i < part.count; i += kQueryBlock) {
    pack_block(args, part.block(i), scratch.from(forward, i));
  }
  const index_t used = at_most(key_end, part.key_stop);
  for (index_t key = key_first; key < used; key += kBackwardKeys) {
    const index_t keys = at_most(used - key, kBackwardKeys);
    pack_tile(part, key, keys, scratch);
    for (index_t i = 0; i < part.count; i += kQueryBlock) {
      const QueryBlock<T> block = part.block(i);
      if (key >= block.key_stop) continue;
      backward_tile(args, block, key, keys, wanted, scratch.from(forward, i));
    }
    if (wanted.of_keys) write_tile(key, keys);
  }
  if (wanted.of_keys) {
    start_tile(forward, scratch);
    for (index_t key = used > key_first ? used : key_first; key < key_end; ++key) {
      write_tile(key, 1);
    }
  }
  if (wanted.of_queries) {
    write_sums(scratch.dq, part.count, forward.width, forward.scale,
               place(args.dq, args.dq_strides, part.first), args.dq_strides[2]);
  }
}

/// Some queries of a head, with the keys that they see.
template <class T>
inline QueryBlock<T> queries_of(const AttentionArgs<T>& args, index_t batch, index_t head,
                                index_t first, index_t end) {
  index_t key_stop = args.lengths != nullptr ? at_most(args.lengths[batch], args.keys) : args.keys;
  if (args.causal) key_stop = at_most(key_stop, end);
  return {args, batch, head, first, end - first, key_stop};
}

/// How the work is cut. Heads that share a part of the bias's gradient are a group, which one
/// worker goes through in order.
struct BackwardSplit {
  index_t batch_step, head_step;  // a group's
  bool whole_heads;
};

template <class T>
inline BackwardSplit split_backward(const AttentionBackwardArgs<T>& args) {
  const AttentionArgs<T>& forward = args.forward;
  const auto shared = [&](int axis) {
    return args.d_bias != nullptr && args.d_bias_strides[axis] == 0;
  };
  const index_t batch_step = shared(0) ? forward.batch : 1;
  const index_t head_step = shared(1) ? forward.heads : 1;
  // Whole heads take five products, parts seven in all, but share them evenly.
  const index_t heads = forward.batch * forward.heads;
  const index_t rounds = ceil_div(heads, forward.workers);
  const bool alone = batch_step == 1 && head_step == 1;
  return {batch_step, head_step,
          forward.workers == 1 || (alone && 7 * heads >= 5 * rounds * forward.workers)};
}

inline constexpr index_t kPartKeys = 2 * kBackwardKeys;
inline constexpr index_t kPartQueries = 2 * kQueryBlock;

/// Calls `run(part, key_first, key_end, wanted)` for what task number `task` is to do.
template <class T>
class BackwardTasks {
 public:
  explicit BackwardTasks(const AttentionBackwardArgs<T>& args)
      : args_(args.forward), split_(split_backward(args)) {
    heads_ = args_.batch * args_.heads;
    groups_ = heads_ / (split_.batch_step * split_.head_step);
    key_parts_ = ceil_div(args_.keys, kPartKeys);
    query_parts_ = ceil_div(args_.queries, kPartQueries);
  }

  index_t count() const {
    return split_.whole_heads ? heads_ : groups_ * key_parts_ + heads_ * query_parts_;
  }

  template <class Run>
  void run(index_t task, const Run& run) const {
    const index_t first_of_queries = groups_ * key_parts_;
    if (split_.whole_heads) {
      run(part(task / args_.heads, task % args_.heads, 0, args_.queries), index_t{0}, args_.keys,
          Wanted{true, true});
    } else if (task < first_of_queries) {
      run_keys(task / key_parts_, task % key_parts_ * kPartKeys, run);
    } else {
      const index_t head = (task - first_of_queries) / query_parts_;
      const index_t first = (task - first_of_queries) % query_parts_ * kPartQueries;
      run(part(head / args_.heads, head % args_.heads, first,
               at_most(first + kPartQueries, args_.queries)),
          index_t{0}, args_.keys, Wanted{true, false});
    }
  }

 private:
  QueryBlock<T> part(index_t batch, index_t head, index_t first, index_t end) const {
    return queries_of(args_, batch, head, first, end);
  }

  template <class Run>
  void run_keys(index_t group, index_t key, const Run& run) const {
    const index_t groups_of_heads = args_.heads / split_.head_step;
    const index_t batch = group / groups_of_heads * split_.batch_step;
    const index_t head = group % groups_of_heads * split_.head_step;
    // Queries before these see none of the keys.
    const index_t first =
        args_.causal ? at_most(key, args_.queries) / kQueryBlock * kQueryBlock : 0;
    for (index_t b = batch; b < batch + split_.batch_step; ++b) {
      for (index_t h = head; h < head + split_.head_step; ++h) {
        run(part(b, h, first, args_.queries), key, at_most(key + kPartKeys, args_.keys),
            Wanted{false, true});
      }
    }
  }

  const AttentionArgs<T>& args_;
  BackwardSplit split_;
  index_t heads_, groups_, key_parts_, query_parts_;
};

template <class T>
index_t attention_backward_workspace(const AttentionBackwardArgs<T>& args) noexcept {
  return args.forward.workers * BackwardScratch<T>::elements(args.forward, args.forward.queries);
}

template <class T>
void attention_backward(const AttentionBackwardArgs<T>& args) noexcept {
  const AttentionArgs<T>& forward = args.forward;
  if (forward.batch * forward.heads == 0) return;
  const BackwardTasks<T> tasks(args);
  const index_t room = BackwardScratch<T>::elements(forward, forward.queries);
  parallel_tasks(tasks.count(), at_most(forward.workers, tasks.count()),
                 [&](index_t task, index_t worker) {
                   const BackwardScratch<T> scratch(forward.workspace + worker * room, forward,
                                                    forward.queries);
                   tasks.run(task, [&](const QueryBlock<T>& part, index_t key_first,
                                       index_t key_end, const Wanted& wanted) {
                     backward_part(args, part, key_first, key_end, wanted, scratch);
                   });
                 });
}

}  // namespace tessera::kernels::TESSERA_ISA
