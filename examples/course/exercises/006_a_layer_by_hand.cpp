// The exercises of examples/course/006_a_layer_by_hand.md: write the functions, then run
//
//     cmake --build build/release --target exercise_006
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 006.1. The RMS norm of each row:  y_j = x_j / sqrt(mean_k(x_k^2) + eps) * weight_j.
///
/// **Shapes**: x (T, D), weight (1, D) -> (T, D). **Source**: Zhang and Sennrich, "Root Mean Square
/// Layer Normalization", 2019, eq. 4.
Matrix rms_norm(const Matrix& x, const Matrix& weight, double eps) {
  unsolved("006.1", x, weight, eps);
}

/// 006.2. A gated feed-forward network without biases: y = (relu(u) g) W2^T with [u | g] = x W1^T.
///
/// The first F columns of x W1^T are u, the other F are g; relu(u) g is the elementwise product.
/// **Shapes**: x (T, D), w1 (2 F, D), w2 (D, F) -> (T, D). **Source**: Shazeer, "GLU Variants
/// Improve Transformer", 2020, eq. 6 (ReGLU).
Matrix gated_feed_forward(const Matrix& x, const Matrix& w1, const Matrix& w2) {
  unsolved("006.2", x, w1, w2);
}

/// 006.3. The number of parameters of one encoder layer, all weights and biases, for width D =
/// `width` and feed-forward width F = `hidden`. Count them in the table of the lesson's page.
index_t parameters_of_a_layer(index_t width, index_t hidden) {
  unsolved("006.3", width, hidden);
}

}  // namespace tessera::exercises
