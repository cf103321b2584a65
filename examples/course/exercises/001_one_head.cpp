// Write these functions. 001_one_head.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_001
#include "examples/course/exercises/001_one_head.h"

#include <algorithm>
#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix scaled_scores(const Matrix& q, const Matrix& k) {
  unsolved("001.1", q, k);
}

Matrix weights_of(const Matrix& scores) {
  unsolved("001.2", scores);
}

Matrix head(const Matrix& x, const Matrix& w_query, const Matrix& w_key, const Matrix& w_value) {
  unsolved("001.3", x, w_query, w_key, w_value);
}

}  // namespace tessera::exercises
