// The backward of fused attention, without a T x T matrix in memory.
//
// The weights are recomputed tile by tile from Q, K and two numbers per query that the forward pass
// stores, m and 1 / l. A tile of keys and a block of queries take five products, all by the
// register tiles of tile.h; lanes are queries in the first two, columns in the others:
//
//   S^T  (keys x queries)   = K . Q^T
//   dP^T (keys x queries)   = V . dO^T
//   P^T = 2^(S^T - m) / l     dS^T = P^T o (dP^T - D)      D = sum over columns of dO o O
//   (with dropout, this dP^T and all P^T below are scaled for kept weights, 0 for dropped ones)
//   dV   (keys x width)    += P^T . dO
//   dK   (keys x width)    += dS^T . Q
//   dQ   (queries x width) += dS . K
//
// **Reproducibility.** An element of dV or dK is one chain over the queries in their order, an
// element of dQ one chain over the keys, and sums pass from tile to tile through memory unchanged.
// So work may be divided anywhere: if there are enough heads, a worker takes whole units of heads
// (BackwardSplit); otherwise the keys and the queries are divided into parts, each of which
// recomputes the weights that it needs.
//
// **Groups.** One worker processes all heads that read the same keys, in order. Unscaled sums of dV
// and dK pass from head to head through the memory of the gradients.
//
// **Masked keys** have weight 0, and so dS = 0 for any dP. Packed copies hold 0 in place of
// infinities and NaN, so that a weight of 0 hides them. A weight above 0 does not hide them,
// because S or D is then NaN.
//
// **Source**: Dao et al., "FlashAttention", 2022, Algorithm 4.
#pragma once

#include "tessera/tensor/kernels/attention_backward_parts.h"

namespace tessera::kernels::TESSERA_ISA {

/// out (keys x queries) = `rows` of K or V times `columns` of Q^T or dO^T.
template <class T>
inline void multiply_columns(const QueryBlock<T>& block, index_t keys, index_t width, const T* rows,
                             const T* columns, T* out, RowsAhead<T>& ahead) {
  multiply_block(keys, width, MatrixRef<T>{rows, width, 1},
                 Panels<T>{columns, kPanel<T> * width, kPanel<T>},
                 TileTarget<T>{out, kQueryBlock, block.padded(), false},
                 [&](index_t, index_t, index_t, index_t) { ahead(); });
}

/// `sums` (rows of whole panels) += A times `depth` rows in panels, which hold `step` rows each.
template <class T>
inline void add_product(index_t rows, index_t width, index_t depth, MatrixRef<T> a, const T* panels,
                        index_t step, T* sums) {
  const index_t whole = whole_panels<T>(width);
  multiply_block(rows, depth, a, Panels<T>{panels, kPanel<T> * step, kPanel<T>},
                 TileTarget<T>{sums, whole, whole, true});
}

/// Writes sums times `scale` to a gradient. Adding 0 changes -0 to 0: otherwise a masked key, which
/// adds 0 to a sum of -0, would change the sign of the gradient.
template <class T>
inline void write_sums(const T* sums, index_t rows, index_t width, T scale, T* to, index_t stride) {
  for (index_t i = 0; i < rows; ++i) {
    for (index_t c = 0; c < width; c += kLanes<T>) {
      const Vec<T> sum = load(sums + i * whole_panels<T>(width) + c);
      store_some(to + i * stride + c, sum * scale + T{0}, at_most(width - c, kLanes<T>));
    }
  }
}

/// Reads sums that write_sums wrote with a scale of 1.
template <class T>
inline void read_sums(const T* from, index_t stride, index_t rows, index_t width, T* sums) {
  for (index_t i = 0; i < rows; ++i) {
    for (index_t c = 0; c < width; c += kLanes<T>) {
      store(sums + i * whole_panels<T>(width) + c,
            load_some(from + i * stride + c, at_most(width - c, kLanes<T>)));
    }
  }
}

/// Adds the dS of a tile to the gradient of the bias. A bias that is the same for all keys changes
/// no weight, so its gradient is 0.
template <class T>
inline void add_bias_gradient(const AttentionBackwardArgs<T>& args, const QueryBlock<T>& block,
                              index_t key, index_t keys, const T* d_scores) {
  const PerScore<T>& d_bias = args.d_bias;
  if (d_bias.data == nullptr || d_bias.key == 0) return;
  T* const to = block.at(d_bias, key);
  for (index_t j = 0; j < keys; ++j) {
    for (index_t i = 0; i < block.count; ++i) {
      to[i * d_bias.query + j * d_bias.key] += d_scores[j * kQueryBlock + i];
    }
  }
}

/// The gradients that a part of the work computes.
struct Wanted {
  bool of_queries;  // dq
  bool of_keys;     // dk, dv and the bias's gradient
};

/// Processes `keys` keys of a tile of `tile_keys` for one block of queries.
template <class T>
inline void backward_tile(const AttentionBackwardArgs<T>& args, const QueryBlock<T>& block,
                          index_t key, index_t keys, index_t tile_keys, const Wanted& wanted,
                          const BackwardScratch<T>& scratch, RowsAhead<T>& ahead) {
  const AttentionArgs<T>& forward = args.forward;
  multiply_columns(block, keys, forward.width, scratch.k, scratch.q_columns, scratch.weights,
                   ahead);
  mask_scores(block, key, keys, scratch.weights);
  multiply_columns(block, keys, forward.v_width, scratch.v, scratch.d_out_columns, scratch.d_scores,
                   ahead);
  differentiate_tile(block, key, keys, scratch);
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

/// Some queries of a head and the keys [first, end); the queries see keys [start, stop) of these.
template <class T>
struct BackwardPart {
  const AttentionBackwardArgs<T>& args;
  QueryBlock<T> queries;
  index_t first, end;
  Wanted wanted;

  T* dq(index_t i) const { return queries.at(args.dq, i); }
  T* dk(index_t j) const { return queries.of_group(args.dk, j); }
  T* dv(index_t j) const { return queries.of_group(args.dv, j); }
  /// Whether the head is the first or the last one that reads its keys.
  bool begins_group() const { return queries.head % args.forward.group == 0; }
  bool ends_group() const { return (queries.head + 1) % args.forward.group == 0; }
  index_t start() const { return at_least(first, queries.keys.begin); }
  index_t stop() const { return at_most(end, queries.keys.stop); }
  /// Whether the first key that a block sees is in the tile at `key`.
  bool begins_at(index_t key, const QueryBlock<T>& block) const {
    return at_least(first, block.keys.begin) >= key;
  }
};

template <class T>
inline void add_queries(const BackwardPart<T>& part, const QueryBlock<T>& block,
                        RowsAhead<T>& ahead) {
  const AttentionArgs<T>& forward = part.args.forward;
  const index_t rows = block.count, v_width = forward.v_width;
  ahead.template add<Fetch::kForL1>(block.q(), forward.q.token, rows, forward.width);
  ahead.template add<Fetch::kForL1>(block.out(), forward.out.token, rows, v_width);
  ahead.template add<Fetch::kForL1>(block.at(part.args.d_out, block.first), part.args.d_out.token,
                                    rows, v_width);
}

template <class T>
inline void add_keys(const BackwardPart<T>& part, index_t key, RowsAhead<T>& ahead) {
  const AttentionArgs<T>& forward = part.args.forward;
  const QueryBlock<T>& head = part.queries;
  const index_t rows = at_most(part.stop() - key, kBackwardKeys);
  ahead.template add<Fetch::kForL1>(head.k(key), forward.k.token, rows, forward.width);
  ahead.template add<Fetch::kForL1>(head.v(key), forward.v.token, rows, forward.v_width);
}

/// The rows to prefetch during the tile at `key` and the block at `i` of `blocks`: the next
/// queries, if this tile has their first key; the next keys, if this is the first block; and the
/// gradients that will be complete.
template <class T>
inline RowsAhead<T> rows_ahead(const BackwardPart<T>& part, const Range& blocks, index_t i,
                               index_t key, index_t keys) {
  const AttentionBackwardArgs<T>& args = part.args;
  const AttentionArgs<T>& forward = args.forward;
  const QueryBlock<T> block = part.queries.block(i);
  const index_t next = i + kQueryBlock;
  const bool last_block = next >= blocks.stop;
  RowsAhead<T> ahead;
  if (!last_block && part.begins_at(key, part.queries.block(next))) {
    add_queries(part, part.queries.block(next), ahead);
  }
  if (i == blocks.begin) add_keys(part, key + keys, ahead);
  if (part.wanted.of_keys && last_block) {
    ahead.template add<Fetch::kForWriting>(part.dk(key), args.dk.token, keys, forward.width);
    ahead.template add<Fetch::kForWriting>(part.dv(key), args.dv.token, keys, forward.v_width);
  }
  if (part.wanted.of_queries && key + keys >= block.keys.stop) {
    ahead.template add<Fetch::kForWriting>(part.dq(block.first), args.dq.token, block.count,
                                           forward.width);
  }
  return ahead;
}

/// Processes one tile of keys for all blocks of queries that see it.
template <class T>
inline void backward_tiles(const BackwardPart<T>& part, index_t key, index_t keys,
                           const BackwardScratch<T>& scratch) {
  const AttentionBackwardArgs<T>& args = part.args;
  const Range blocks = part.queries.blocks(key, key + keys);
  for (index_t i = blocks.begin; i < blocks.stop; i += kQueryBlock) {
    const QueryBlock<T> block = part.queries.block(i);
    const BackwardScratch<T> own = scratch.from(args.forward, i);
    if (part.begins_at(key, block)) pack_block(args, block, own);
    RowsAhead<T> ahead = rows_ahead(part, blocks, i, key, keys);
    const Range seen = block.keys_in(key, key + keys);
    backward_tile(args, block, seen.begin, seen.stop - seen.begin, keys, part.wanted,
                  own.from_key(args.forward, seen.begin - key), ahead);
    if (part.wanted.of_queries && key + keys >= block.keys.stop) {
      write_sums(own.dq, block.count, args.forward.width, args.forward.scale, part.dq(block.first),
                 args.dq.token);
    }
  }
}

/// Starts the sums of a tile of keys: zeros, or the sums of the heads of the group so far.
template <class T>
inline void start_keys(const BackwardPart<T>& part, index_t key, index_t keys,
                       const BackwardScratch<T>& scratch) {
  const AttentionBackwardArgs<T>& args = part.args;
  const AttentionArgs<T>& forward = args.forward;
  fill_zeros(scratch.dk, keys * whole_panels<T>(forward.width));
  fill_zeros(scratch.dv, keys * whole_panels<T>(forward.v_width));
  if (part.begins_group()) return;
  read_sums(part.dk(key), args.dk.token, keys, forward.width, scratch.dk);
  read_sums(part.dv(key), args.dv.token, keys, forward.v_width, scratch.dv);
}

/// Writes the sums of a tile of keys. Only the last head of a group multiplies by the factor of the
/// scores.
template <class T>
inline void write_keys(const BackwardPart<T>& part, index_t key, index_t keys,
                       const BackwardScratch<T>& scratch) {
  const AttentionBackwardArgs<T>& args = part.args;
  const AttentionArgs<T>& forward = args.forward;
  const T scale = part.ends_group() ? forward.scale : T{1};
  write_sums(scratch.dk, keys, forward.width, scale, part.dk(key), args.dk.token);
  write_sums(scratch.dv, keys, forward.v_width, T{1}, part.dv(key), args.dv.token);
}

/// Computes the gradients of the queries of a part, of its keys, or of both. Keys that no query
/// uses, and queries that use no key, get zeros.
template <class T>
inline void backward_part(const BackwardPart<T>& part, const BackwardScratch<T>& scratch) {
  const AttentionBackwardArgs<T>& args = part.args;
  const AttentionArgs<T>& forward = args.forward;
  fill_zeros(scratch.dq, part.queries.count * whole_panels<T>(forward.width));
  for (index_t i = 0; part.wanted.of_queries && i < part.queries.count; i += kQueryBlock) {
    const QueryBlock<T> block = part.queries.block(i);
    if (block.keys.begin < block.keys.stop) continue;
    write_sums(scratch.dq, block.count, forward.width, forward.scale, part.dq(block.first),
               args.dq.token);
  }
  for (index_t key = part.start(); key < part.stop(); key += kBackwardKeys) {
    const index_t keys = at_most(part.stop() - key, kBackwardKeys);
    pack_tile(part.queries, key, keys, scratch);
    if (part.wanted.of_keys) start_keys(part, key, keys, scratch);
    backward_tiles(part, key, keys, scratch);
    if (part.wanted.of_keys) write_keys(part, key, keys, scratch);
  }
  for (index_t key = part.first; part.wanted.of_keys && key < part.end; ++key) {
    if (key >= part.start() && key < part.stop()) continue;
    start_keys(part, key, 1, scratch);
    write_keys(part, key, 1, scratch);
  }
}

/// The division of the work. Heads that share elements of the gradients of keys, values or the bias
/// are a unit, which one worker processes in order.
struct BackwardSplit {
  index_t batch_step, head_step;  // the size of a unit
  index_t units;
  bool whole_units;
};

template <class T>
inline BackwardSplit split_backward(const AttentionBackwardArgs<T>& args) {
  const AttentionArgs<T>& forward = args.forward;
  const bool has_bias = args.d_bias.data != nullptr;
  const index_t batch_step = has_bias && args.d_bias.batch == 0 ? forward.batch : 1;
  const index_t head_step = has_bias && args.d_bias.head == 0 ? forward.heads : forward.group;
  // Whole units take five products; parts take seven, but divide evenly among the workers.
  const index_t units = forward.batch / batch_step * (forward.heads / head_step);
  const index_t rounds = ceil_div(units, forward.workers);
  return {batch_step, head_step, units, 7 * units >= 5 * rounds * forward.workers};
}

inline constexpr index_t kPartKeys = 2 * kBackwardKeys;
inline constexpr index_t kPartQueries = 2 * kQueryBlock;

/// Runs a part of the work by its number.
template <class T>
class BackwardTasks {
 public:
  explicit BackwardTasks(const AttentionBackwardArgs<T>& args)
      : all_(args), args_(args.forward), split_(split_backward(args)) {
    heads_ = args_.batch * args_.heads;
    key_parts_ = ceil_div(args_.keys, kPartKeys);
    query_parts_ = ceil_div(args_.queries, kPartQueries);
  }

  index_t count() const {
    return split_.whole_units ? split_.units : split_.units * key_parts_ + heads_ * query_parts_;
  }

  void run(index_t task, const BackwardScratch<T>& scratch) const {
    const index_t tasks_of_keys = split_.units * key_parts_;
    if (split_.whole_units) {
      for_each_head(task, [&](index_t batch, index_t head) {
        const index_t queries = query_count(args_, batch);
        backward_part(part(head, 0, queries, 0, key_count(args_, batch), {true, true}), scratch);
      });
    } else if (task < tasks_of_keys) {
      run_keys(task / key_parts_, task % key_parts_ * kPartKeys, scratch);
    } else {
      const index_t first = (task - tasks_of_keys) % query_parts_ * kPartQueries;
      const index_t head = (task - tasks_of_keys) / query_parts_;
      const index_t batch = head / args_.heads;
      const index_t end = at_most(first + kPartQueries, query_count(args_, batch));
      if (first >= end) return;
      backward_part(part(head, first, end, 0, key_count(args_, batch), {true, false}), scratch);
    }
  }

 private:
  BackwardPart<T> part(index_t head, index_t first, index_t end, index_t key_first, index_t key_end,
                       const Wanted& wanted) const {
    return {all_,
            {args_, head / args_.heads, head % args_.heads, first, end - first},
            key_first,
            key_end,
            wanted};
  }

  /// Calls f(batch, head) for each head of a unit, in order; `head` counts over all batches.
  template <class F>
  void for_each_head(index_t unit, const F& f) const {
    const index_t units_per_batch = args_.heads / split_.head_step;
    const index_t batch = unit / units_per_batch * split_.batch_step;
    const index_t head = unit % units_per_batch * split_.head_step;
    for (index_t b = batch; b < batch + split_.batch_step; ++b) {
      for (index_t h = head; h < head + split_.head_step; ++h) f(b, b * args_.heads + h);
    }
  }

  /// Processes kPartKeys keys from `key` on, for each head of a unit.
  void run_keys(index_t unit, index_t key, const BackwardScratch<T>& scratch) const {
    for_each_head(unit, [&](index_t batch, index_t head) {
      const index_t end = at_most(key + kPartKeys, key_count(args_, batch));
      if (key >= end) return;
      const Range queries = queries_of_keys(args_.masks, query_count(args_, batch), key, end);
      backward_part(part(head, queries.begin, queries.stop, key, end, {false, true}), scratch);
    });
  }

  const AttentionBackwardArgs<T>& all_;
  const AttentionArgs<T>& args_;
  BackwardSplit split_;
  index_t heads_, key_parts_, query_parts_;
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
                   tasks.run(task, scratch);
                 });
}

}  // namespace tessera::kernels::TESSERA_ISA
