// One solution of each exercise of 003.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix entropies(const Matrix& weights) {
  Matrix result(weights.rows(), 1);
  for (index_t i = 0; i < weights.rows(); ++i) {
    for (index_t j = 0; j < weights.columns(); ++j) {
      const double w = weights(i, j);
      if (w > 0) result(i, 0) -= w * std::log(w);
    }
  }
  return result;
}

Matrix safe_softmax(const Matrix& scores) {
  Matrix weights = scores;
  for (index_t i = 0; i < scores.rows(); ++i) {
    double largest = scores(i, 0);
    for (index_t j = 1; j < scores.columns(); ++j) largest = std::max(largest, scores(i, j));
    double sum = 0;
    for (index_t j = 0; j < scores.columns(); ++j) sum += std::exp(scores(i, j) - largest);
    for (index_t j = 0; j < scores.columns(); ++j) {
      weights(i, j) = std::exp(scores(i, j) - largest) / sum;
    }
  }
  return weights;
}

Matrix jacobian(const Matrix& weights) {
  const index_t size = weights.columns();
  Matrix result(size, size);
  for (index_t i = 0; i < size; ++i) {
    for (index_t j = 0; j < size; ++j) {
      result(i, j) = weights(0, i) * ((i == j ? 1 : 0) - weights(0, j));
    }
  }
  return result;
}

}  // namespace tessera::exercises
