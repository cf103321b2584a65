// Write these functions. 000_see_it_work.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_000
#include "examples/course/exercises/000_see_it_work.h"

#include <algorithm>
#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix backwards_weights(index_t tokens) {
  unsolved("000.1", tokens);
}

Matrix attended(const Matrix& weights, const Matrix& values) {
  unsolved("000.2", weights, values);
}

double share_on_anti_diagonal(const Matrix& weights) {
  unsolved("000.3", weights);
}

}  // namespace tessera::exercises
