// The exercises of examples/course/007_masks.md: write the functions, then run
//
//     cmake --build build/release --target exercise_007
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 007.1. The mask of sequences packed one after the other in one row of T = sum of `lengths`
/// tokens: element (i, j) is 1 if tokens i and j belong to the same sequence, else 0.
///
/// **Shapes**: (T, T). `packed_keep({2, 1})` is {{1, 1, 0}, {1, 1, 0}, {0, 0, 1}}.
Matrix packed_keep(const std::vector<index_t>& lengths) {
  unsolved("007.1", lengths);
}

/// 007.2. The softmax of each row over the keys that are kept: weight_ij = exp(s_ij - m_i) / sum_k
/// exp(s_ik - m_i) if keep_ij is 1, otherwise exactly 0, with m_i the largest kept score of row i.
/// Rows without a kept key are zeros.
///
/// Scores that are not kept may be any number, even NaN and infinities.
/// **Shapes**: scores (T, T), keep (T, T) of zeros and ones -> (T, T).
Matrix masked_softmax(const Matrix& scores, const Matrix& keep) {
  unsolved("007.2", scores, keep);
}

/// 007.3. Longformer's mask: 1 if |i - j| <= window, and in the rows and columns of the tokens in
/// `globals`, which attend to all tokens, and all to them.
///
/// **Shapes**: (tokens, tokens). **Source**: Beltagy et al., "Longformer", 2020, section 3.1.
Matrix global_and_window(index_t tokens, index_t window, const std::vector<index_t>& globals) {
  unsolved("007.3", tokens, window, globals);
}

}  // namespace tessera::exercises
