// The exercises of examples/course/009_minilm_by_hand.md: write the functions, then run
//
//     cmake --build build/release --target exercise_009
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 009.1. The input of BERT's first norm: row i is row ids[i] of `words`, plus row i of
/// `positions`, plus row 0 of `types`.
///
/// **Shapes**: words (V, D), positions (P, D), types (2, D) -> (T, D) for T ids, T <= P.
Matrix embedded(const std::vector<index_t>& ids, const Matrix& words, const Matrix& positions,
                const Matrix& types) {
  unsolved("009.1", ids, words, positions, types);
}

/// 009.2. Attention with `heads` heads in adjacent columns: head h reads and writes the columns h d
/// to (h + 1) d, with d = D / heads, and its scores are divided by sqrt(d).
///
/// **Shapes**: q, k, v (T, D) -> (T, D).
Matrix heads_of(const Matrix& q, const Matrix& k, const Matrix& v, index_t heads) {
  unsolved("009.2", q, k, v, heads);
}

struct BertSizes {
  index_t words, positions, types, width, hidden, layers;
};
/// 009.3. The number of parameters of BERT's encoder: three tables, a norm, and layers as in 006.3.
index_t parameters_of_bert(const BertSizes& sizes) {
  unsolved("009.3", sizes);
}

}  // namespace tessera::exercises
