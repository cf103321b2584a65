// The exercise of examples/course/014_a_model_learns.md: write the function, then run
//
//     cmake --build build/release --target exercise_014
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 014.1. The mean loss of a model that gives each class its fraction p_c of the answers: the sum over
/// classes of -p_c log p_c, with the natural logarithm. A class without answers adds 0.
///
/// `counts` has the number of answers of each class.
double baseline_loss(const std::vector<index_t>& counts) {
  unsolved("014.1", counts);
}

}  // namespace tessera::exercises
