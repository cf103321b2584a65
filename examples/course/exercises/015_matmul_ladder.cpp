// The exercises of examples/course/015_matmul_ladder.md: write the functions, then run
//
//     cmake --build build/release --target exercise_015
#include "examples/course/exercises/015_matmul_ladder.h"

namespace tessera::exercises {

/// 015.1. The milliseconds that `loop` needs for `products` products of two numbers (M N K of them
/// in a matrix product). Multiply-adds, loads, stores and waiting for a sum overlap, so that the
/// slowest of the four decides; between two additions to one sum there are `latency` cycles, in
/// which `sums` multiply-adds can start.
double predicted_ms(const Loop& loop, const Core& core, double products) {
  unsolved("015.1", loop, core, products);
}

/// 015.2. Step 3 of the ladder: the tile of C at `c`, kRows rows of 2 vectors, becomes the sum over
/// k < depth of A[r][k] B[k][j]. Rows of A, B and C are a_row, b_row and c_row elements apart; the
/// previous contents of C are ignored.
///
/// The sums must stay in registers: use an array Vec<kBytes> sum[kRows][2], with `#pragma GCC
/// unroll 16` above every loop over it.
template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tile(const float* a, index_t a_row, const float* b,
                                                 index_t b_row, float* c, index_t c_row,
                                                 index_t depth) {
  unsolved("015.2", a, a_row, b, b_row, c, c_row, depth);
}

}  // namespace tessera::exercises
