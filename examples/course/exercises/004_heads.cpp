// The exercises of examples/course/004_heads.md: write the functions, then run
//
//     cmake --build build/release --target exercise_004
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 004.1. The columns of a projection that belong to head `head` of `heads`: d = D / heads adjacent
/// columns. Heads are counted from 0.
///
/// **Shapes**: x (T, D) -> (T, d).
Matrix columns_of_head(const Matrix& x, index_t head, index_t heads) {
  unsolved("004.1", x, head, heads);
}

/// 004.2. The sum of all heads' contributions: the sum over h of heads[h] times the rows h d, ...,
/// (h + 1) d - 1 of W^O.
///
/// **Shapes**: each head (T, d), w_o (D, D) -> (T, D).
Matrix combined(const std::vector<Matrix>& heads, const Matrix& w_o) {
  unsolved("004.2", heads, w_o);
}

/// 004.3. The number of parameters of multi-head attention, with biases: the projections to
/// queries, keys and values of all heads, and W^O. `width` is D; each head's is D / heads.
index_t parameters_of_attention(index_t width, index_t heads) {
  unsolved("004.3", width, heads);
}

}  // namespace tessera::exercises
