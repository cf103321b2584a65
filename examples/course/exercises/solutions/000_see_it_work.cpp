// One solution of each exercise of 000.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix backwards_weights(index_t tokens) {
  Matrix weights(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) weights(i, tokens - 1 - i) = 1;
  return weights;
}

Matrix attended(const Matrix& weights, const Matrix& values) {
  Matrix result(weights.rows(), values.columns());
  for (index_t i = 0; i < result.rows(); ++i) {
    for (index_t j = 0; j < values.rows(); ++j) {
      for (index_t c = 0; c < result.columns(); ++c) result(i, c) += weights(i, j) * values(j, c);
    }
  }
  return result;
}

double weight_on_anti_diagonal(const Matrix& weights) {
  double sum = 0;
  for (index_t i = 0; i < weights.rows(); ++i) sum += weights(i, weights.rows() - 1 - i);
  return sum / static_cast<double>(weights.rows());
}

}  // namespace tessera::exercises
