// Steps 0 to 2 of attention's ladder: the formula, row by row. attention_ladder_steps.cpp gives the
// order of reading.
#pragma once

#include "bench/attention_ladder.h"
#include "tessera/tensor/kernels/simd.h"

namespace tessera::bench::TESSERA_LADDER_ISA {

/// One head of a task: row t of q is at q + t * row.
struct Head {
  const float *q, *k, *v;
  float* out;
  index_t tokens, width, row;
  float scale;
};

inline Head head_of(const AttentionTask& task, index_t head) {
  const index_t at = head * task.width;
  return {task.q + at,
          task.k + at,
          task.v + at,
          task.out + at,
          task.tokens,
          task.width,
          task.heads * task.width,
          static_cast<float>(1 / __builtin_sqrt(static_cast<double>(task.width)))};
}

/// The similarity of query i and key j: S[i][j] = scale * sum_p Q[i][p] K[j][p].
inline float score(const Head& x, index_t i, index_t j) {
  float sum = 0;
  for (index_t p = 0; p < x.width; ++p) sum += x.q[i * x.row + p] * x.k[j * x.row + p];
  return sum * x.scale;
}

/// Converts a row of scores to weights: exp(s - m) / sum of exp(s - m), where m, the largest score,
/// keeps exp from overflowing and cancels out. Three passes over the row.
inline void softmax(const float* scores, index_t count, float* weights) {
  float largest = scores[0];
  for (index_t j = 1; j < count; ++j) largest = scores[j] > largest ? scores[j] : largest;
  float sum = 0;
  for (index_t j = 0; j < count; ++j) {
    weights[j] = __builtin_expf(scores[j] - largest);
    sum += weights[j];
  }
  for (index_t j = 0; j < count; ++j) weights[j] /= sum;
}

// Step 0. The definition: S = scale Q K^T, W = softmax of each row of S, O = W V.
//
// Two matrices of T x T are written and read. Each addition waits 4 cycles for the previous one,
// and those of O read a different row of V for each term, a cache line for 4 bytes.
inline void definition(const AttentionTask& task) {
  const index_t tokens = task.tokens;
  float* const scores = task.room;
  float* const weights = task.room + tokens * tokens;
  for (index_t head = 0; head < task.heads; ++head) {
    const Head x = head_of(task, head);
    for (index_t i = 0; i < tokens; ++i) {
      for (index_t j = 0; j < tokens; ++j) scores[i * tokens + j] = score(x, i, j);
    }
    for (index_t i = 0; i < tokens; ++i) {
      softmax(scores + i * tokens, tokens, weights + i * tokens);
    }
    for (index_t i = 0; i < tokens; ++i) {
      for (index_t c = 0; c < x.width; ++c) {
        float sum = 0;
        for (index_t j = 0; j < tokens; ++j) sum += weights[i * tokens + j] * x.v[j * x.row + c];
        x.out[i * x.row + c] = sum;
      }
    }
  }
}

inline index_t two_matrices(const AttentionTask& task) {
  return 2 * task.tokens * task.tokens;
}

/// out = the sum of the rows of V, each times its weight.
inline void add_values(const Head& x, const float* weights, float* out) {
  for (index_t c = 0; c < x.width; ++c) out[c] = 0;
  for (index_t j = 0; j < x.tokens; ++j) {
    const float* const value = x.v + j * x.row;
    for (index_t c = 0; c < x.width; ++c) out[c] += weights[j] * value[c];
  }
}

// Step 1. One query at a time: no query needs another's scores, so one row of them is enough. Its
// weights add up whole rows of V, and the sums of neighbouring columns do not wait for each other.
inline void row_by_row(const AttentionTask& task) {
  float* const row = task.room;
  for (index_t head = 0; head < task.heads; ++head) {
    const Head x = head_of(task, head);
    for (index_t i = 0; i < x.tokens; ++i) {
      for (index_t j = 0; j < x.tokens; ++j) row[j] = score(x, i, j);
      softmax(row, x.tokens, row);
      add_values(x, row, x.out + i * x.row);
    }
  }
}

inline index_t one_row(const AttentionTask& task) {
  return task.tokens;
}

// Step 2. The softmax in one pass over the row. The maximum is computed along with the scores, in
// the shadow of their chains; the sum along with the weights. The division waits until the values
// are added: one per column, d in all, instead of one per key, T in all.
inline float exponentiate_row(float* row, index_t count, float largest) {
  float sum = 0;
  for (index_t j = 0; j < count; ++j) {
    row[j] = __builtin_expf(row[j] - largest);
    sum += row[j];
  }
  return sum;
}

inline void one_pass(const AttentionTask& task) {
  float* const row = task.room;
  for (index_t head = 0; head < task.heads; ++head) {
    const Head x = head_of(task, head);
    for (index_t i = 0; i < x.tokens; ++i) {
      float largest = -kernels::TESSERA_ISA::kInfinity<float>;
      for (index_t j = 0; j < x.tokens; ++j) {
        row[j] = score(x, i, j);
        largest = row[j] > largest ? row[j] : largest;
      }
      const float sum = exponentiate_row(row, x.tokens, largest);
      float* const out = x.out + i * x.row;
      add_values(x, row, out);
      for (index_t c = 0; c < x.width; ++c) out[c] /= sum;
    }
  }
}

}  // namespace tessera::bench::TESSERA_LADDER_ISA
