// Mistakes that can be planted, and how the hint begins that each must get.
//
// strided: these are every third column
// count: d is D / heads
// transposed: W^O is transposed
// first_rows: all heads use head 1's rows
// full_width: each head has projections to D / heads numbers
// no_output: W^O and its bias are missing
// no_bias: each of the four products has a bias
#include "examples/course/exercises/003_heads.h"

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix columns_of_head(const Matrix& x, index_t head, index_t heads) {
  const index_t width = planted("count") ? heads : x.columns() / heads;
  Matrix columns(x.rows(), width);
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t c = 0; c < width; ++c) {
      columns(i, c) = x(i, planted("strided") ? c * heads + head : head * width + c);
    }
  }
  return columns;
}

Matrix combined(const std::vector<Matrix>& heads, const Matrix& w_o) {
  Matrix sum(heads[0].rows(), w_o.columns());
  index_t first = 0;
  for (const Matrix& head : heads) {
    for (index_t i = 0; i < sum.rows(); ++i) {
      for (index_t j = 0; j < sum.columns(); ++j) {
        for (index_t c = 0; c < head.columns(); ++c) {
          sum(i, j) += head(i, c) * (planted("transposed") ? w_o(j, first + c) : w_o(first + c, j));
        }
      }
    }
    if (!planted("first_rows")) first += head.columns();
  }
  return sum;
}

index_t parameters_of_attention(index_t width, index_t heads) {
  const index_t bias = planted("no_bias") ? 0 : 1;
  const index_t of_a_head = 3 * (width + bias) * (planted("full_width") ? width : width / heads);
  return heads * of_a_head + (planted("no_output") ? 0 : (width + bias) * width);
}

}  // namespace tessera::exercises
