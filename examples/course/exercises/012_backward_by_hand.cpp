// The exercises of examples/course/012_backward_by_hand.md: write the functions, then run
//
//     cmake --build build/release --target exercise_012
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 012.1. The gradient of the loss that trains classifiers, with regard to its scores x:
///
///     L = 1/N sum_i -log p_i,      p_i = softmax(row i of x) at the correct class c_i
///
/// **Shapes**: x (N, C), target N numbers of 0 .. C - 1 -> (N, C).
Matrix cross_entropy_gradient(const Matrix& x, const std::vector<index_t>& target) {
  unsolved("012.1", x, target);
}

/// 012.2. dx of a feed-forward network without biases, y = relu(x W1^T) W2^T, where relu(h) =
/// max(h, 0).
///
/// **Shapes**: x (T, D), w1 (F, D), w2 (D, F), dy (T, D) -> (T, D). No h is 0.
Matrix feed_forward_backward(const Matrix& x, const Matrix& w1, const Matrix& w2,
                             const Matrix& dy) {
  unsolved("012.2", x, w1, w2, dy);
}

/// 012.3. dx of the RMS norm of each row: y_j = x_j r gamma_j with r = 1 / sqrt(mean_k(x_k^2) +
/// eps).
///
/// **Shapes**: x (T, D), gamma (1, D), dy (T, D) -> (T, D).
Matrix rms_norm_backward(const Matrix& x, const Matrix& gamma, const Matrix& dy, double eps) {
  unsolved("012.3", x, gamma, dy, eps);
}

}  // namespace tessera::exercises
