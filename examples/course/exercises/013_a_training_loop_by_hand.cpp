// The exercises of examples/course/013_a_training_loop_by_hand.md: write the functions, then run
//
//     cmake --build build/release --target exercise_013
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 013.1. A step of SGD with momentum, in place:  b = momentum b + g,  then  w -= lr b.
///
/// `b` is the optimiser's state between steps; it begins with zeros. **Shapes**: all the same.
void momentum_step(Matrix& w, Matrix& b, const Matrix& g, double lr, double momentum) {
  unsolved("013.1", w, b, g, lr, momentum);
}

/// 013.2. The factor of the learning rate at a step: step / warmup while step < warmup, then down
/// by a straight line, from 1 at step = warmup to 0 at step = total.
double linear_schedule(index_t step, index_t warmup, index_t total) {
  unsolved("013.2", step, warmup, total);
}

/// 013.3. A batch was too large for the memory and was computed in parts. Part p had counts[p]
/// examples, and mean_gradients[p] is the gradient of the mean of their losses. Return the gradient
/// of the mean over the whole batch, which is not the mean of these.
///
/// **Shapes**: all gradients the same, and the result.
Matrix gradient_of_the_batch(const std::vector<Matrix>& mean_gradients,
                             const std::vector<index_t>& counts) {
  unsolved("013.3", mean_gradients, counts);
}

}  // namespace tessera::exercises
