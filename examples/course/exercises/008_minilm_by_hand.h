// The exercises of examples/course/008_minilm_by_hand.md. Write them in 008_minilm_by_hand.cpp.
#pragma once

#include <vector>

#include "examples/course/matrix.h"

namespace tessera::exercises {

using examples::Matrix;

/// 008.1. The input of BERT's first norm: row i is row ids[i] of `words`, plus row i of
/// `positions`, plus row 0 of `types`.
///
/// **Shapes**: words (V, D), positions (P, D), types (2, D) -> (T, D) for T ids, T <= P.
Matrix embedded(const std::vector<index_t>& ids, const Matrix& words, const Matrix& positions,
                const Matrix& types);

/// 008.2. Attention with `heads` heads in adjacent columns: head h reads and writes the columns h d
/// to (h + 1) d, with d = D / heads, and its scores are divided by sqrt(d).
///
/// **Shapes**: q, k, v (T, D) -> (T, D).
Matrix heads_of(const Matrix& q, const Matrix& k, const Matrix& v, index_t heads);

struct BertSizes {
  index_t words, positions, types, width, hidden, layers;
};
/// 008.3. The number of parameters of BERT's encoder: three tables, a norm, and layers as in 005.3.
index_t parameters_of_bert(const BertSizes& sizes);

}  // namespace tessera::exercises
