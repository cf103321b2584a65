// Mistakes that can be planted, and how the hint begins that each must get.
//
// base_2: this is the logarithm to base 2
// sign: the logarithm of a weight is negative
// zero: 0 times log 0 is NaN
// overflow: exp(1000) is infinite
// largest_of_all: the largest of all scores is subtracted
// diagonal_only: a score moves the other weights too
// reversed: the signs are reversed
#include "examples/course/exercises/002_scale.h"

#include <algorithm>
#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix entropies(const Matrix& weights) {
  Matrix result(weights.rows(), 1);
  for (index_t i = 0; i < weights.rows(); ++i) {
    for (index_t j = 0; j < weights.columns(); ++j) {
      const double w = weights(i, j);
      const double part = w * (planted("base_2") ? std::log2(w) : std::log(w));
      if (w > 0 || planted("zero")) result(i, 0) -= planted("sign") ? -part : part;
    }
  }
  return result;
}

Matrix safe_softmax(const Matrix& scores) {
  const auto& all = scores.values();
  Matrix weights = scores;
  for (index_t i = 0; i < scores.rows(); ++i) {
    double largest =
        planted("largest_of_all") ? *std::max_element(all.begin(), all.end()) : scores(i, 0);
    for (index_t j = 1; j < scores.columns(); ++j) largest = std::max(largest, scores(i, j));
    if (planted("overflow")) largest = 0;
    double sum = 0;
    for (index_t j = 0; j < scores.columns(); ++j) sum += std::exp(scores(i, j) - largest);
    for (index_t j = 0; j < scores.columns(); ++j) {
      weights(i, j) = std::exp(scores(i, j) - largest) / sum;
    }
  }
  return weights;
}

Matrix slopes(const Matrix& weights) {
  const index_t size = weights.columns();
  Matrix result(size, size);
  for (index_t i = 0; i < size; ++i) {
    for (index_t j = 0; j < size; ++j) {
      if (planted("diagonal_only") && i != j) continue;
      result(i, j) =
          weights(0, i) * ((i == j ? 1 : 0) - weights(0, j)) * (planted("reversed") ? -1 : 1);
    }
  }
  return result;
}

}  // namespace tessera::exercises
