// The exercises of examples/course/003_heads.md. Write them in 003_heads.cpp.
#pragma once

#include <vector>

#include "examples/course/matrix.h"

namespace tessera::exercises {

using examples::Matrix;

/// 003.1. The columns of a projection that belong to head `head` of `heads`: d = D / heads adjacent
/// columns. Heads are counted from 0.
///
/// **Shapes**: x (T, D) -> (T, d).
Matrix columns_of_head(const Matrix& x, index_t head, index_t heads);

/// 003.2. The sum of all heads' contributions: the sum over h of heads[h] times the rows h d, ...,
/// (h + 1) d - 1 of W^O.
///
/// **Shapes**: each head (T, d), w_o (D, D) -> (T, D).
Matrix combined(const std::vector<Matrix>& heads, const Matrix& w_o);

/// 003.3. The number of parameters of multi-head attention, with biases: the projections to
/// queries, keys and values of all heads, and W^O. `width` is D; each head's is D / heads.
index_t parameters_of_attention(index_t width, index_t heads);

}  // namespace tessera::exercises
