// Write these functions. 004_positions.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_004
#include "examples/course/exercises/004_positions.h"

#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix moved(const Matrix& row, index_t distance) {
  unsolved("004.1", row, distance);
}

Matrix turned_interleaved(const Matrix& x) {
  unsolved("004.2", x);
}

Matrix alibi(index_t tokens, index_t head, index_t heads) {
  unsolved("004.3", tokens, head, heads);
}

}  // namespace tessera::exercises
