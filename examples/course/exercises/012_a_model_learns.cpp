// Write this function. 012_a_model_learns.h describes it. Then run
//
//     cmake --build build/release --target exercise_012
#include "examples/course/exercises/012_a_model_learns.h"

#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

double base_rate(const std::vector<index_t>& counts) {
  unsolved("012.1", counts);
}

}  // namespace tessera::exercises
