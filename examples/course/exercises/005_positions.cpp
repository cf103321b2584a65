// The exercises of examples/course/005_positions.md: write the functions, then run
//
//     cmake --build build/release --target exercise_005
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 005.1. The sinusoidal row of position pos + distance, from the row of position pos: each pair
/// (sin a, cos a) becomes (sin(a + b), cos(a + b)), with b = distance f_k and f_k = 10000^(-2k /
/// D).
///
/// pos itself is not needed: sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b -
/// sin a sin b.
/// **Shapes**: row (1, D) -> (1, D). **Source**: Vaswani et al., 2017, section 3.5, "for any fixed
/// offset k, PE_pos+k can be represented as a linear function of PE_pos".
Matrix moved(const Matrix& row, index_t distance) {
  unsolved("005.1", row, distance);
}

/// 005.2. Each row of x rotated by its position: row i is at position i, and its columns 2k and 2k
/// + 1 are a pair (a, b), which becomes (a cos t - b sin t, b cos t + a sin t) with t = i f_k and
/// f_k = 10000^(-2k / D).
///
/// **Shapes**: x (T, D) -> (T, D). **Source**: Su et al., "RoFormer", 2021, section 3.4.2.
Matrix rotated_interleaved(const Matrix& x) {
  unsolved("005.2", x);
}

/// 005.3. The term that ALiBi adds to the scores of head `head` of `heads`: -slope |i - j| with
/// slope = 2^(-8 (head + 1) / heads); heads are counted from 0, and are a power of two.
///
/// **Shapes**: (tokens, tokens). **Source**: Press et al., "Train Short, Test Long", 2022, section
/// 3.
Matrix alibi(index_t tokens, index_t head, index_t heads) {
  unsolved("005.3", tokens, head, heads);
}

}  // namespace tessera::exercises
