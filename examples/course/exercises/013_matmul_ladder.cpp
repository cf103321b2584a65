// Write these functions. 013_matmul_ladder.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_013
#include "examples/course/exercises/013_matmul_ladder.h"

#include <algorithm>

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

double predicted_ms(const Loop& loop, const Core& core, double products) {
  unsolved("013.1", loop, core, products);
}

template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, index_t a_row, const float* b,
                                                 index_t b_row, float* c, index_t c_row,
                                                 index_t depth) {
  unsolved("013.2", a, a_row, b, b_row, c, c_row, depth);
}

}  // namespace tessera::exercises

#include "examples/course/exercises/013_tiles.h"  // compiles multiply_tile
