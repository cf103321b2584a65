// The steps of attention's ladder. Read attention_ladder_rows.h (steps 0 to 2),
// attention_ladder_tiles.h (step 3: the loops over tiles), then this file from top to bottom. Read
// matmul's ladder first: its register tile is used here.
//
// The compiler must not vectorise or exchange loops here (CMakeLists.txt), so that the gain of a
// step is the gain of its idea. Vectors are those of the kernels, tensor/kernels/simd.h, compiled
// into a separate namespace.
#include "bench/attention_ladder_rows.h"
#include "bench/attention_ladder_tiles.h"
#include "bench/register_tile.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::bench::TESSERA_LADDER_ISA {

namespace {

using namespace kernels::TESSERA_ISA;

// Step 3, its parts: the loops of the formula on one tile.
void pack_nothing(const Head&, Keys, const Buffers&) {}

void score_in_order(const Head& x, Keys keys, const Buffers& block) {
  for (index_t j = 0; j < keys.count; ++j) {
    float* const scores = block.scores + j * kQueries;
    const float* const key = x.k + (keys.first + j) * x.row;
    for (index_t i = 0; i < kQueries; ++i) scores[i] = 0;
    for (index_t p = 0; p < x.width; ++p) {
      const float* const queries = block.queries + p * kQueries;
      for (index_t i = 0; i < kQueries; ++i) scores[i] += key[p] * queries[i];
    }
  }
}

void soften_one_by_one(const Head& x, Keys keys, const Buffers& block) {
  for (index_t i = 0; i < kQueries; ++i) {
    float largest = block.largest[i];
    for (index_t j = 0; j < keys.count; ++j) {
      const float s = block.scores[j * kQueries + i];
      largest = s > largest ? s : largest;
    }
    const float rescale = __builtin_expf(block.largest[i] - largest);
    float* const out = block.out + i * padded_width(x.width);
    for (index_t c = 0; c < x.width; ++c) out[c] *= rescale;
    float sum = block.sum[i] * rescale;
    for (index_t j = 0; j < keys.count; ++j) {
      float& s = block.scores[j * kQueries + i];
      s = __builtin_expf(s - largest);
      sum += s;
    }
    block.largest[i] = largest;
    block.sum[i] = sum;
  }
}

void weigh_in_order(const Head& x, Keys keys, const Buffers& block) {
  for (index_t i = 0; i < kQueries; ++i) {
    float* const out = block.out + i * padded_width(x.width);
    for (index_t j = 0; j < keys.count; ++j) {
      const float weight = block.scores[j * kQueries + i];
      const float* const value = x.v + (keys.first + j) * x.row;
      for (index_t c = 0; c < x.width; ++c) out[c] += weight * value[c];
    }
  }
}

/// A step made of `parts`, one head after the other.
template <const Parts& kParts>
void by_tiles(const AttentionTask& task) {
  for (index_t head = 0; head < task.heads; ++head) {
    attend_head(head_of(task, head), kParts, task.room);
  }
}

index_t one_head(const AttentionTask& task) {
  return Buffers::elements(task.tokens, task.width);
}

constexpr Parts kTiles = {1, pack_nothing, score_in_order, soften_one_by_one, weigh_in_order};

// Step 4. Both products by the register tile of matmul's ladder, step 3 (register_tile.h): kRows
// rows of kVectors vectors of C stay in registers during the loop over k.
//
//     S^T (keys x queries)  = K . Q^T      A: rows of K       B: Q^T, k is the width
//     O (queries x width)  += P . V        A: columns of P^T  B: V, k are the tile's keys
//
// So that all tiles are complete, a tile's keys and values are copied, followed by zeros, once for
// all blocks of queries.
constexpr int kRows = kVectorBytes == 64 ? 8 : 4;
constexpr int kVectors = kernels::kPanelVectors;
static_assert(kQueries % kRows == 0 && kKeys % kRows == 0 && kQueries % kPanel<float> == 0);

void pack_tile(const Head& x, Keys keys, const Buffers& b) {
  const float* const k = x.k + keys.first * x.row;
  const float* const v = x.v + keys.first * x.row;
  for (index_t j = 0; j < round_up(keys.count, kRows); ++j) {
    for (index_t p = 0; p < x.width; ++p) {
      b.keys[j * x.width + p] = j < keys.count ? k[j * x.row + p] : 0;
    }
  }
  for (index_t panel = 0; panel < padded_width(x.width); panel += kPanel<float>) {
    float* const to = b.values + panel * kKeys;
    for (index_t j = 0; j < keys.count; ++j) {
      for (index_t c = 0; c < kPanel<float>; ++c) {
        to[j * kPanel<float> + c] = panel + c < x.width ? v[j * x.row + panel + c] : 0;
      }
    }
  }
}

void score_by_tiles(const Head& x, Keys keys, const Buffers& block) {
  for (index_t i = 0; i < kQueries; i += kPanel<float>) {
    for (index_t j = 0; j < keys.count; j += kRows) {
      multiply_tile<kRows, kVectors, false>({block.keys + j * x.width, x.width, 1},
                                            block.queries + i, kQueries,
                                            block.scores + j * kQueries + i, kQueries, x.width);
    }
  }
}

void weigh_by_tiles(const Head& x, Keys keys, const Buffers& block) {
  const index_t width = padded_width(x.width);
  for (index_t c = 0; c < width; c += kPanel<float>) {
    for (index_t i = 0; i < kQueries; i += kRows) {
      multiply_tile<kRows, kVectors, true>({block.scores + i, 1, kQueries},
                                           block.values + c * kKeys, kPanel<float>,
                                           block.out + i * width + c, width, keys.count);
    }
  }
}

constexpr Parts kProducts = {1, pack_tile, score_by_tiles, soften_one_by_one, weigh_by_tiles};

// Step 5. The softmax in base 2 and on vectors.
//
// exp(x) = 2^(x log2 e), and the factor log2 e is part of the queries' scale, where it costs
// nothing. 2^x = 2^n 2^r, n the integer nearest to x: n is added to the exponent's bits, and a
// polynomial of degree 5 gives 2^r on [-1/2, 1/2]. That is exp2_of_negatives (attention_softmax.h).
//
// Lanes are queries, so m and l are vectors. One exponential is a chain of dependent operations, 36
// cycles long; four vectors are computed in lockstep and fill each other's waits.
void rescale_rows(const Head& x, const Buffers& block, const float (&rescale)[kQueries]) {
  const index_t width = padded_width(x.width);
  for (index_t i = 0; i < kQueries; ++i) {
    if (rescale[i] == 1) continue;  // the maximum is in an earlier tile
    float* const out = block.out + i * width;
    for (index_t c = 0; c < width; c += kLanes<float>) store(out + c, load(out + c) * rescale[i]);
  }
}

/// scores[key][vector] -> 2^(score - shift), in lockstep; added to `sum`.
template <int kAtOnce>
[[gnu::always_inline]] inline void exponentiate_keys(float* scores, const Vec<float> (&shift)[2],
                                                     Vec<float> (&sum)[2]) {
  Vectors<float, 2 * kAtOnce> p;
#pragma GCC unroll 4
  for (int n = 0; n < 2 * kAtOnce; ++n) {
    p.at[n] = load(scores + n / 2 * kQueries + n % 2 * kLanes<float>) - shift[n % 2];
  }
  p = exp2_of_negatives(p);
#pragma GCC unroll 4
  for (int n = 0; n < 2 * kAtOnce; ++n) {
    store(scores + n / 2 * kQueries + n % 2 * kLanes<float>, p.at[n]);
    sum[n % 2] += p.at[n];
  }
}

void soften_in_lockstep(const Head& x, Keys keys, const Buffers& block) {
  float rescale[kQueries];
  for (index_t i = 0; i < kQueries; i += 2 * kLanes<float>) {
    float* const scores = block.scores + i;
    Vec<float> largest[2], sum[2];
    for (int v = 0; v < 2; ++v) largest[v] = load(block.largest + i + v * kLanes<float>);
    for (index_t j = 0; j < keys.count; ++j) {
      for (int v = 0; v < 2; ++v) {
        largest[v] = max(load(scores + j * kQueries + v * kLanes<float>), largest[v]);
      }
    }
    for (int v = 0; v < 2; ++v) {
      const index_t at = i + v * kLanes<float>;
      const Vec<float> raised = load(block.largest + at) - largest[v];
      const Vec<float> factor = exp2_of_negatives(Vectors<float, 1>{{raised}}).at[0];
      store(block.largest + at, largest[v]);
      store(rescale + at, factor);
      sum[v] = rounded(load(block.sum + at) * factor);
    }
    index_t j = 0;
    for (; j + 2 <= keys.count; j += 2) exponentiate_keys<2>(scores + j * kQueries, largest, sum);
    if (j < keys.count) exponentiate_keys<1>(scores + j * kQueries, largest, sum);
    for (int v = 0; v < 2; ++v) store(block.sum + i + v * kLanes<float>, sum[v]);
  }
  rescale_rows(x, block, rescale);
}

constexpr Parts kLockstep = {MathConstants<double>::kLog2E, pack_tile, score_by_tiles,
                             soften_in_lockstep, weigh_by_tiles};

// Step 6. Threads: each takes the next head, with its own buffers. Heads share nothing. If there
// are few heads, the library also divides a head's queries into spans.
void threads(const AttentionTask& task) {
  kernels::parallel_tasks(task.heads, task.workers, [&](index_t head, index_t worker) {
    attend_head(head_of(task, head), kLockstep, task.room + worker * one_head(task));
  });
}

index_t one_head_per_thread(const AttentionTask& task) {
  return task.workers * one_head(task);
}

}  // namespace

AttentionLadder attention_ladder() {
  return {{{"the definition: S, softmax, O", definition, two_matrices},
           {"one query at a time", row_by_row, one_row},
           {"softmax in one pass", one_pass, one_row},
           {"tiles of keys and queries", by_tiles<kTiles>, one_head},
           {"both products by register tiles", by_tiles<kProducts>, one_head},
           {"base 2, vectors in lockstep", by_tiles<kLockstep>, one_head},
           {"threads", threads, one_head_per_thread}}};
}

}  // namespace tessera::bench::TESSERA_LADDER_ISA
