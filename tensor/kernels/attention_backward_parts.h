// The buffers of attention's backward pass, and how it packs queries and keys.
#pragma once

#include "tessera/tensor/kernels/attention.h"

namespace tessera::kernels::TESSERA_ISA {

// 64 keys by 48 queries: the weights and their gradients, 12 KiB each in float32, stay in L1 until
// all products have read them.
inline constexpr index_t kBackwardKeys = 64;

/// One worker's buffers.
template <class T>
struct BackwardScratch {
  // For all queries of a part, block after block:
  T* q_columns;      // Q^T, scaled: panels of (width, kPanel)
  T* d_out_columns;  // dO^T: panels of (v_width, kPanel)
  T* q;              // Q: panels of (a block's queries, kPanel)
  T* d_out;          // dO: the same
  T* dq;             // rows of whole_panels(width)
  T* maximum;        // m per query
  T* scale;          // 1 / l
  T* delta;          // D
  // For one tile of keys:
  T* k;         // rows
  T* v;         // rows
  T* k_panels;  // K: panels of (the tile's keys, kPanel)
  T* dk;        // rows of whole_panels(width)
  T* dv;        // rows of whole_panels(v_width)
  // For one tile of keys and one block of queries:
  T* weights;   // S^T, then P^T: (kBackwardKeys, kQueryBlock)
  T* d_scores;  // dP^T, then dS^T: the same

  BackwardScratch(T* memory, const AttentionArgs<T>& args, index_t queries) {
    place(memory, args, queries);
  }
  static index_t elements(const AttentionArgs<T>& args, index_t queries) {
    return BackwardScratch(nullptr, args, 0).place(nullptr, args, queries);
  }

  /// The buffers for the queries from `i` on, a multiple of kQueryBlock.
  BackwardScratch from(const AttentionArgs<T>& args, index_t i) const {
    BackwardScratch rest = *this;
    rest.q_columns += i * args.width;
    rest.d_out_columns += i * args.v_width;
    rest.q += i * whole_panels<T>(args.width);
    rest.d_out += i * whole_panels<T>(args.v_width);
    rest.dq += i * whole_panels<T>(args.width);
    rest.maximum += i;
    rest.scale += i;
    rest.delta += i;
    return rest;
  }

  /// The buffers for the tile's keys from `j` on.
  BackwardScratch from_key(const AttentionArgs<T>& args, index_t j) const {
    BackwardScratch rest = *this;
    rest.k += j * args.width;
    rest.v += j * args.v_width;
    rest.k_panels += j * kPanel<T>;
    rest.dk += j * whole_panels<T>(args.width);
    rest.dv += j * whole_panels<T>(args.v_width);
    return rest;
  }

 private:
  index_t place(T* memory, const AttentionArgs<T>& args, index_t queries) {
    const index_t rows = whole_panels<T>(queries);
    const index_t width = whole_panels<T>(args.width);
    const index_t v_width = whole_panels<T>(args.v_width);
    return carve<T>(memory, {{q_columns, rows * args.width},
                             {d_out_columns, rows * args.v_width},
                             {q, rows * width},
                             {d_out, rows * v_width},
                             {dq, rows * width},
                             {maximum, rows},
                             {scale, rows},
                             {delta, rows},
                             {k, kBackwardKeys * args.width},
                             {v, kBackwardKeys * args.v_width},
                             {k_panels, kBackwardKeys * width},
                             {dk, kBackwardKeys * width},
                             {dv, kBackwardKeys * v_width},
                             {weights, kBackwardKeys * kQueryBlock},
                             {d_scores, kBackwardKeys * kQueryBlock}});
  }
};

/// Rows of several matrices to prefetch. Each call prefetches one row of each matrix, so that the
/// rows arrive during other work.
template <class T>
class RowsAhead {
 public:
  template <Fetch kFetch>
  void add(const T* first, index_t stride, index_t rows, index_t width) {
    ranges_[count_++] = {first, stride, rows, width, kFetch};
  }

  void operator()() {
    for (int r = 0; r < count_; ++r) {
      const Rows& range = ranges_[r];
      if (next_ >= range.rows) continue;
      const T* const row = range.first + next_ * range.stride;
      if (range.fetch == Fetch::kForL1) {
        prefetch_rows<Fetch::kForL1>(row, 0, 1, range.width);
      } else {
        prefetch_rows<Fetch::kForWriting>(row, 0, 1, range.width);
      }
    }
    ++next_;
  }

 private:
  struct Rows {
    const T* first;
    index_t stride, rows, width;
    Fetch fetch;
  };
  Rows ranges_[8];
  int count_ = 0;
  index_t next_ = 0;
};

/// Packs rows into panels and pads the last one with zeros. Infinities and NaN become 0, because
/// 0 * NaN would be NaN although the weight is 0. If the weight is not 0, the weight itself is NaN.
template <class T>
inline void pack_finite(const T* first, index_t stride, index_t rows, index_t width, T* panels) {
  for (index_t i = 0; i < rows; ++i) {
    const T* const row = first + i * stride;
    for (index_t p = 0; p < whole_panels<T>(width); p += kLanes<T>) {
      const index_t left = width - p;
      const Vec<T> x = left <= 0 ? Vec<T>{} : load_some(row + p, at_most(left, kLanes<T>));
      T* const panel = panels + p / kPanel<T> * kPanel<T> * rows + p % kPanel<T>;
      store(panel + i * kPanel<T>, x - x == Vec<T>{} ? x : Vec<T>{});
    }
  }
}

/// Computes D for each query: the sum of dO o O over its columns, in their order. If dO is not
/// finite, `scale` becomes NaN, and with it all weights of the query and all that depends on them.
template <class T>
inline void find_deltas(const QueryBlock<T>& block, const BackwardScratch<T>& scratch) {
  const index_t width = block.args.v_width;
  const index_t stride = block.args.out.token;
  const T* const first = block.out();
  for (index_t i = 0; i < block.padded(); i += kLanes<T>) {
    const T* const d_out =
        scratch.d_out_columns + i / kPanel<T> * kPanel<T> * width + i % kPanel<T>;
    Vec<T> delta = {}, zero = {};
    for (index_t p = 0; p < width; p += kLanes<T>) {
      const index_t columns = at_most(width - p, kLanes<T>);
      Vec<T> out[kLanes<T>];
      for (index_t r = 0; r < kLanes<T>; ++r) {
        const T* const row = first + (i + r) * stride + p;
        out[r] = i + r < block.count ? load_some(row, columns) : Vec<T>{};
      }
      transpose<T>(out);
      for (index_t r = 0; r < columns; ++r) {
        const Vec<T> g = load(d_out + (p + r) * kPanel<T>);
        delta += g * out[r];
        zero = zero + (g - g);
      }
    }
    store(scratch.delta + i, delta);
    store(scratch.scale + i, load(scratch.scale + i) + zero);
  }
}

/// Packs all that the products need of a block of queries.
template <class T>
inline void pack_block(const AttentionBackwardArgs<T>& args, const QueryBlock<T>& block,
                       const BackwardScratch<T>& scratch) {
  const AttentionArgs<T>& forward = args.forward;
  const AttentionStatistics<T>& kept = forward.statistics;
  const T* const d_out = block.at(args.d_out, block.first);
  pack_queries(block, scratch.q_columns);
  pack_transposed(d_out, args.d_out.token, block.count, forward.v_width, T{1},
                  scratch.d_out_columns);
  pack_finite(block.q(), forward.q.token, block.count, forward.width, scratch.q);
  pack_finite(d_out, args.d_out.token, block.count, forward.v_width, scratch.d_out);
  const index_t first = (block.batch * forward.heads + block.head) * forward.queries + block.first;
  for (index_t i = 0; i < block.padded(); ++i) {
    const bool exists = i < block.count;
    // If the query sees no key, its maximum is -inf, and -inf - -inf would be NaN.
    const bool sees = exists && kept.maxima[first + i] != -kInfinity<T>;
    scratch.maximum[i] = sees ? kept.maxima[first + i] : T{0};
    scratch.scale[i] = exists ? kept.scales[first + i] : T{0};
  }
  find_deltas(block, scratch);
}

/// Packs all that the products need of a tile of keys.
template <class T>
inline void pack_tile(const QueryBlock<T>& part, index_t key, index_t keys,
                      const BackwardScratch<T>& scratch) {
  const AttentionArgs<T>& args = part.args;
  copy_rows(part.k(key), args.k.token, keys, args.width, scratch.k);
  copy_rows(part.v(key), args.v.token, keys, args.v_width, scratch.v);
  pack_finite(scratch.k, args.width, keys, args.width, scratch.k_panels);
}

// The softmax: a tile of scores and of dP becomes P and dS. Lanes are queries. Dropout applies to P
// in dV = P^T dO and to dP = dO V^T, but not to D: D is computed from the output, which already
// includes dropout.

/// Replaces kKeys rows of S^T and dP^T from `key` on, two vectors of queries each, by P^T and dS^T.
template <int kKeys, class T, class Drops>
[[gnu::always_inline]] inline void differentiate(index_t key, const Drops& drops, T* weights,
                                                 T* d_scores,
                                                 const Vec<T> (&maximum)[kPanelVectors],
                                                 const Vec<T> (&scale)[kPanelVectors],
                                                 const Vec<T> (&delta)[kPanelVectors]) {
  constexpr int kCount = kKeys * kPanelVectors;
  const auto offset = [](int i) {
    return i / kPanelVectors * kQueryBlock + i % kPanelVectors * kLanes<T>;
  };
  Vectors<T, kCount> p;
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) p.at[i] = load(weights + offset(i)) - maximum[i % kPanelVectors];
  p = exp2_of_negatives(p);
  const auto drop = drops.template mask<kKeys>(key);
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    const Mask<T> used = p.at[i] != Vec<T>{};
    const Vec<T> weight = p.at[i] * scale[i % kPanelVectors];
    const Vec<T> d_weight = drop(i, load(d_scores + offset(i)));
    const Vec<T> d_score = weight * (d_weight - delta[i % kPanelVectors]);
    store(weights + offset(i), used ? drop(i, weight) : Vec<T>{});
    store(d_scores + offset(i), used ? d_score : Vec<T>{});
  }
}

/// Replaces S^T and dP^T by P^T and dS^T for a panel of queries, from query i of the block on.
template <class T, class Drops>
inline void differentiate_panel(index_t i, index_t key, index_t keys, const Drops& drops,
                                const BackwardScratch<T>& scratch) {
  Vec<T> maximum[kPanelVectors], scale[kPanelVectors], delta[kPanelVectors];
  for (int v = 0; v < kPanelVectors; ++v) {
    maximum[v] = load(scratch.maximum + i + v * kLanes<T>);
    scale[v] = load(scratch.scale + i + v * kLanes<T>);
    delta[v] = load(scratch.delta + i + v * kLanes<T>);
  }
  T* const weights = scratch.weights + i;
  T* const d_scores = scratch.d_scores + i;
  index_t j = 0;
  while (j < keys) {
    T* const row = weights + j * kQueryBlock;
    T* const d_row = d_scores + j * kQueryBlock;
    if ((key + j) % 2 == 0 && j + 2 <= keys) {
      differentiate<2>(key + j, drops, row, d_row, maximum, scale, delta);
      j += 2;
    } else {
      differentiate<1>(key + j, drops, row, d_row, maximum, scale, delta);
      j += 1;
    }
  }
}

/// Replaces S^T and dP^T by P^T and dS^T for `keys` keys from `key` on.
template <class T>
inline void differentiate_tile(const QueryBlock<T>& block, index_t key, index_t keys,
                               const BackwardScratch<T>& scratch) {
  const Dropout& dropout = block.args.dropout;
  if (dropout.threshold == 0) {
    for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
      differentiate_panel(i, key, keys, NoDropout<T>{}, scratch);
    }
    return;
  }
  const Survivors<T> survivors(block, key, keys);
  for (index_t i = 0; i < block.padded(); i += kPanel<T>) {
    const PanelDropout<T> drops = {{survivors, i}, survivor_scale<T>(dropout)};
    differentiate_panel(i, key, keys, drops, scratch);
  }
}

}  // namespace tessera::kernels::TESSERA_ISA
