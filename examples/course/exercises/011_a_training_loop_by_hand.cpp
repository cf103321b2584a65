// Write these functions. 011_a_training_loop_by_hand.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_011
#include "examples/course/exercises/011_a_training_loop_by_hand.h"

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

void momentum_step(Matrix& w, Matrix& b, const Matrix& g, double lr, double momentum) {
  unsolved("011.1", w, b, g, lr, momentum);
}

double linear_schedule(index_t step, index_t warmup, index_t total) {
  unsolved("011.2", step, warmup, total);
}

Matrix gradient_of_the_batch(const std::vector<Matrix>& mean_gradients,
                             const std::vector<index_t>& counts) {
  unsolved("011.3", mean_gradients, counts);
}

}  // namespace tessera::exercises
