// Mistakes that can be planted, and how the hint begins that each must get.
//
// self: each place looks at itself
// from_one: places are counted from 0
// columns: the weights are read by columns
// own: each place takes only its own value
// main: this is the main diagonal
// sum: this is the sum
#include "examples/course/exercises/000_see_it_work.h"

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix backwards_weights(index_t tokens) {
  Matrix weights(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) {
    weights(i, planted("self") ? i : planted("from_one") ? tokens - i : tokens - 1 - i) = 1;
  }
  return weights;
}

Matrix attended(const Matrix& weights, const Matrix& values) {
  Matrix result(weights.rows(), values.columns());
  for (index_t i = 0; i < result.rows(); ++i) {
    for (index_t j = 0; j < values.rows(); ++j) {
      if (planted("own") && i != j) continue;
      const double weight = planted("columns") ? weights(j, i) : weights(i, j);
      for (index_t c = 0; c < result.columns(); ++c) result(i, c) += weight * values(j, c);
    }
  }
  return result;
}

double share_on_anti_diagonal(const Matrix& weights) {
  const index_t places = weights.rows();
  double sum = 0;
  for (index_t i = 0; i < places; ++i) sum += weights(i, planted("main") ? i : places - 1 - i);
  return planted("sum") ? sum : sum / static_cast<double>(places);
}

}  // namespace tessera::exercises
