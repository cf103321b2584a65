// Step 3 of attention's ladder, the loops over tiles, which the later steps share.
#pragma once

#include "bench/attention_ladder_rows.h"
#include "tessera/tensor/kernels/attention_softmax.h"

namespace tessera::bench::TESSERA_LADDER_ISA {

using kernels::TESSERA_ISA::at_most;
using kernels::TESSERA_ISA::kInfinity;
using kernels::TESSERA_ISA::kPanel;
using kernels::TESSERA_ISA::kQueryBlock;
using kernels::TESSERA_ISA::round_up;

// Step 3. Tiles: kQueries queries and kKeys keys at a time, so that no row of scores is ever
// complete.
//
// The softmax needs the largest score of a row. How can it do without a complete row? After some
// keys, with m the largest score so far, keep
//
//     l = sum_j exp(s_j - m)        O = sum_j exp(s_j - m) V_j        so that the answer is O / l.
//
// A tile that raises m to m' changes every older term by the same factor: exp(s - m') = exp(s - m)
// exp(m - m'). So l and O are multiplied by exp(m - m') once per tile. At first m = -inf, and the
// factor is 0.
//
//                 queries ->                     m, l: one number per query
//            +--------------+                    O:    one row per query
//     keys   | S^T, then P^T|   32 KiB at most,
//       |    | of one tile  |   in L1            for each tile of keys
//       v    +--------------+                      for each block of queries
//                                                    scores; softmax; weights times values
//
// Scores of neighbouring queries, i innermost, are sums that do not wait for each other. Memory
// grows with T, not with T x T. (A tile of one key and one query is the same idea without memory;
// but each weight then waits for the 64 additions of its score and for its own exponential, so it
// is slower than step 1.)
inline constexpr index_t kKeys = 128;
inline constexpr index_t kQueries = kQueryBlock;  // 48 or 64: whole tiles, by rows and columns

/// The width of O's rows in memory: whole panels of the register tile. Also the columns of V.
inline index_t padded_width(index_t width) {
  return round_up(width, kPanel<float>);
}

/// The buffers of one head, carved from a task's room.
struct Buffers {
  float* queries;  // Q^T, scaled: for each block of queries (width, kQueries), then zeros
  float* out;      // O, not yet divided by l: rows of padded_width
  float* largest;  // m
  float* sum;      // l
  float* keys;     // (kKeys, width): a tile, then zeros
  float* values;   // (kKeys, padded_width), in panels
  float* scores;   // S^T, then P^T: (kKeys, kQueries)

  static index_t elements(index_t tokens, index_t width) {
    const index_t rows = round_up(tokens, kQueries);
    return rows * (width + padded_width(width) + 2) +
           kKeys * (width + padded_width(width) + kQueries);
  }

  Buffers(float* room, index_t tokens, index_t width) {
    const index_t rows = round_up(tokens, kQueries);
    queries = room;
    out = queries + rows * width;
    largest = out + rows * padded_width(width);
    sum = largest + rows;
    keys = sum + rows;
    values = keys + kKeys * width;
    scores = values + kKeys * padded_width(width);
  }

  /// The same for the block of queries from query i on.
  Buffers from(index_t i, index_t width) const {
    Buffers block = *this;
    block.queries += i * width;
    block.out += i * padded_width(width);
    block.largest += i;
    block.sum += i;
    return block;
  }
};

/// Some keys of a head.
struct Keys {
  index_t first, count;
};

/// The parts that later steps exchange: each step replaces some of them.
struct Parts {
  double unit;                                                    // scores are in units of 1 / unit
  void (*pack)(const Head& x, Keys keys, const Buffers& b);       // once per tile of keys
  void (*score)(const Head& x, Keys keys, const Buffers& block);  // S^T
  void (*soften)(const Head& x, Keys keys, const Buffers& block);  // S^T -> P^T; m, l, O rescaled
  void (*weigh)(const Head& x, Keys keys, const Buffers& block);   // O += P V
};

/// Q^T of all blocks, scaled, and the sums at their start.
inline void start_head(const Head& x, double unit, const Buffers& b) {
  const float scale = static_cast<float>(static_cast<double>(x.scale) * unit);
  for (index_t i = 0; i < round_up(x.tokens, kQueries); ++i) {
    const Buffers block = b.from(i / kQueries * kQueries, x.width);
    for (index_t p = 0; p < x.width; ++p) {
      block.queries[p * kQueries + i % kQueries] = i < x.tokens ? x.q[i * x.row + p] * scale : 0;
    }
    b.largest[i] = -kInfinity<float>;
    b.sum[i] = 0;
  }
  const index_t sums = round_up(x.tokens, kQueries) * padded_width(x.width);
  for (index_t e = 0; e < sums; ++e) b.out[e] = 0;
}

/// O / l.
inline void finish_head(const Head& x, const Buffers& b) {
  for (index_t i = 0; i < x.tokens; ++i) {
    const float* const sums = b.out + i * padded_width(x.width);
    const float scale = 1 / b.sum[i];
    for (index_t c = 0; c < x.width; ++c) x.out[i * x.row + c] = sums[c] * scale;
  }
}

inline void attend_head(const Head& x, const Parts& parts, float* room) {
  const Buffers b(room, x.tokens, x.width);
  start_head(x, parts.unit, b);
  for (index_t j = 0; j < x.tokens; j += kKeys) {
    const Keys keys = {j, at_most(x.tokens - j, kKeys)};
    parts.pack(x, keys, b);
    for (index_t i = 0; i < x.tokens; i += kQueries) {
      const Buffers block = b.from(i, x.width);
      parts.score(x, keys, block);
      parts.soften(x, keys, block);
      parts.weigh(x, keys, block);
    }
  }
  finish_head(x, b);
}

}  // namespace tessera::bench::TESSERA_LADDER_ISA
