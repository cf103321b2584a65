// The exercises of examples/course/010_what_heads_do.md: write the functions, then run
//
//     cmake --build build/release --target exercise_010
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 010.1. For one head, the fraction of token j in the vectors that token i receives, by their norms:
/// fraction_ij = |a_ij W_O v_j| / sum_k |a_ik W_O v_k|.
///
/// **Shapes**: weights a (T, T), values v (T, d), w_o (D, d) -> (T, T). No row of lengths is zero.
/// **Source**: Kobayashi et al., "Attention is Not Only a Weight", 2020.
Matrix value_fractions(const Matrix& weights, const Matrix& values, const Matrix& w_o) {
  unsolved("010.1", weights, values, w_o);
}

/// 010.2. The contribution of head `head` of `count` to each token: its columns of `heads`, the
/// heads' adjacent outputs, times the same columns of W_O. The sum of all contributions and the
/// bias is attention's output.
///
/// **Shapes**: heads (T, D), w_o (D, D) -> (T, D).
Matrix part_of_head(const Matrix& heads, const Matrix& w_o, index_t head, index_t count) {
  unsolved("010.2", heads, w_o, head, count);
}

/// 010.3. The part of each input in each output, if the residual connection passes one half:
/// R = M_(L-1) ... M_1 M_0 with M_l = (A_l + I) / 2, where A_0 are the weights of the first layer.
///
/// **Shapes**: each (T, T) -> (T, T). **Source**: Abnar and Zuidema, "Quantifying Attention Flow in
/// Transformers", 2020.
Matrix rollout(const std::vector<Matrix>& weights) {
  unsolved("010.3", weights);
}

}  // namespace tessera::exercises
