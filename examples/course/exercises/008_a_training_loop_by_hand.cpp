// Write these functions. 008_a_training_loop_by_hand.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_008
#include "examples/course/exercises/008_a_training_loop_by_hand.h"

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

void momentum_step(Matrix& w, Matrix& b, const Matrix& g, double lr, double momentum) {
  unsolved("008.1", w, b, g, lr, momentum);
}

double linear_schedule(index_t step, index_t warmup, index_t total) {
  unsolved("008.2", step, warmup, total);
}

Matrix gradient_of_the_batch(const std::vector<Matrix>& mean_gradients,
                             const std::vector<index_t>& counts) {
  unsolved("008.3", mean_gradients, counts);
}

}  // namespace tessera::exercises
