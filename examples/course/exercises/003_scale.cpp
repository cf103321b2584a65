// The exercises of examples/course/003_scale.md: write the functions, then run
//
//     cmake --build build/release --target exercise_003
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 003.1. The entropy of each row of weights: -sum_j w_j log w_j, with the natural logarithm. A
/// weight of 0 adds 0.
///
/// **Shapes**: (T, S) -> (T, 1).
Matrix entropies(const Matrix& weights) {
  unsolved("003.1", weights);
}

/// 003.2. The softmax of each row, for scores of any size: exp(score_j - m) divided by the sum of
/// the row's exp(score_k - m), where m is the largest score of the row.
///
/// **Shapes**: (T, S) -> (T, S).
Matrix safe_softmax(const Matrix& scores) {
  unsolved("003.2", scores);
}

/// 003.3. The Jacobian of the softmax of one row: row i, column j is dw_i/dx_j = w_i ([i = j] - w_j),
/// where [i = j] is 1 if they are equal and 0 if not.
///
/// **Shapes**: weights (1, S) -> (S, S).
Matrix jacobian(const Matrix& weights) {
  unsolved("003.3", weights);
}

}  // namespace tessera::exercises
