// The exercises of examples/course/000_see_it_work.md: write the functions, then run
//
//     cmake --build build/release --target exercise_000
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 000.1. The weights with which a model writes a word of `tokens` letters backwards without an
/// error: row i is the attention of position i.
///
/// **Shapes**: (tokens, tokens); positions are counted from 0.
Matrix backwards_weights(index_t tokens) {
  unsolved("000.1", tokens);
}

/// 000.2. The result of attention at each position: row i is the sum over j of weights(i, j) times row
/// j of `values`.
///
/// **Shapes**: weights (T, T), values (T, D) -> (T, D).
Matrix attended(const Matrix& weights, const Matrix& values) {
  unsolved("000.2", weights, values);
}

/// 000.3. The mean of the weights on the anti-diagonal, from the upper right corner to the lower
/// left.
///
/// **Shapes**: weights (T, T).
double weight_on_anti_diagonal(const Matrix& weights) {
  unsolved("000.3", weights);
}

}  // namespace tessera::exercises
