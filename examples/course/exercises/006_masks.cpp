// Write these functions. 006_masks.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_006
#include "examples/course/exercises/006_masks.h"

#include <algorithm>
#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix packed_keep(const std::vector<index_t>& lengths) {
  unsolved("006.1", lengths);
}

Matrix masked_softmax(const Matrix& scores, const Matrix& keep) {
  unsolved("006.2", scores, keep);
}

Matrix global_and_window(index_t tokens, index_t window, const std::vector<index_t>& globals) {
  unsolved("006.3", tokens, window, globals);
}

}  // namespace tessera::exercises
