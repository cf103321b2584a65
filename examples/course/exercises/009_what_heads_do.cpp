// Write these functions. 009_what_heads_do.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_009
#include "examples/course/exercises/009_what_heads_do.h"

#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix value_shares(const Matrix& weights, const Matrix& values, const Matrix& w_o) {
  unsolved("009.1", weights, values, w_o);
}

Matrix part_of_head(const Matrix& heads, const Matrix& w_o, index_t head, index_t count) {
  unsolved("009.2", heads, w_o, head, count);
}

Matrix rollout(const std::vector<Matrix>& weights) {
  unsolved("009.3", weights);
}

}  // namespace tessera::exercises
