// Write these functions. 009_positions.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_009
#include "examples/course/exercises/009_positions.h"

#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix moved(const Matrix& row, index_t distance) {
  unsolved("009.1", row, distance);
}

Matrix turned_interleaved(const Matrix& x) {
  unsolved("009.2", x);
}

Matrix alibi(index_t tokens, index_t head, index_t heads) {
  unsolved("009.3", tokens, head, heads);
}

}  // namespace tessera::exercises
