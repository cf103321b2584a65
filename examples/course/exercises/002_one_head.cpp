// The exercises of examples/course/002_one_head.md: write the functions, then run
//
//     cmake --build build/release --target exercise_002
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 002.1. Q K^T / sqrt(d): the number in row i, column j is the dot product of query i and key j,
/// divided by the square root of their width.
///
/// **Shapes**: q (T, d), k (S, d) -> (T, S). **Source**: Vaswani et al., 2017, equation 1.
Matrix scaled_scores(const Matrix& q, const Matrix& k) {
  unsolved("002.1", q, k);
}

/// 002.2. The softmax of each row: exp(score_j) divided by the sum of the row's exp(score_k).
///
/// **Shapes**: (T, S) -> (T, S).
Matrix weights_of(const Matrix& scores) {
  unsolved("002.2", scores);
}

/// 002.3. A complete head: softmax(Q K^T / sqrt(d)) V with Q = x W_Q, K = x W_K, V = x W_V.
///
/// **Shapes**: x (T, D), the weights (D, d) -> (T, d).
Matrix head(const Matrix& x, const Matrix& w_query, const Matrix& w_key, const Matrix& w_value) {
  unsolved("002.3", x, w_query, w_key, w_value);
}

}  // namespace tessera::exercises
