// Mistakes, and how the hint begins that each must get.
//
// 1: each place looks at itself
// 2: places are counted from 0
// 3: the weights are read by columns
// 4: each place takes only its own value
// 5: this is the main diagonal
// 6: this is the sum
#include "examples/course/exercises/000_see_it_work.h"

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix backwards_weights(index_t tokens) {
  Matrix weights(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) {
    weights(i, planted(1) ? i : planted(2) ? tokens - i : tokens - 1 - i) = 1;
  }
  return weights;
}

Matrix attended(const Matrix& weights, const Matrix& values) {
  Matrix result(weights.rows(), values.columns());
  for (index_t i = 0; i < result.rows(); ++i) {
    for (index_t j = 0; j < values.rows(); ++j) {
      if (planted(4) && i != j) continue;
      const double weight = planted(3) ? weights(j, i) : weights(i, j);
      for (index_t c = 0; c < result.columns(); ++c) result(i, c) += weight * values(j, c);
    }
  }
  return result;
}

double share_on_anti_diagonal(const Matrix& weights) {
  const index_t places = weights.rows();
  double sum = 0;
  for (index_t i = 0; i < places; ++i) sum += weights(i, planted(5) ? i : places - 1 - i);
  return planted(6) ? sum : sum / static_cast<double>(places);
}

}  // namespace tessera::exercises
