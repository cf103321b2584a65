// One solution of each exercise of 004.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix columns_of_head(const Matrix& x, index_t head, index_t heads) {
  const index_t width = x.columns() / heads;
  Matrix columns(x.rows(), width);
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t c = 0; c < width; ++c) columns(i, c) = x(i, head * width + c);
  }
  return columns;
}

Matrix combined(const std::vector<Matrix>& heads, const Matrix& w_o) {
  Matrix sum(heads[0].rows(), w_o.columns());
  index_t first = 0;  // of the head's rows of W^O
  for (const Matrix& head : heads) {
    for (index_t i = 0; i < sum.rows(); ++i) {
      for (index_t j = 0; j < sum.columns(); ++j) {
        for (index_t c = 0; c < head.columns(); ++c) sum(i, j) += head(i, c) * w_o(first + c, j);
      }
    }
    first += head.columns();
  }
  return sum;
}

index_t parameters_of_attention(index_t width, index_t heads) {
  const index_t of_a_head = 3 * (width + 1) * (width / heads);
  return heads * of_a_head + (width + 1) * width;
}

}  // namespace tessera::exercises
