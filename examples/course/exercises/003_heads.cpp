// Write these functions. 003_heads.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_003
#include "examples/course/exercises/003_heads.h"

#include <algorithm>
#include <cmath>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix columns_of_head(const Matrix& x, index_t head, index_t heads) {
  unsolved("003.1", x, head, heads);
}

Matrix combined(const std::vector<Matrix>& heads, const Matrix& w_o) {
  unsolved("003.2", heads, w_o);
}

index_t parameters_of_attention(index_t width, index_t heads) {
  unsolved("003.3", width, heads);
}

}  // namespace tessera::exercises
