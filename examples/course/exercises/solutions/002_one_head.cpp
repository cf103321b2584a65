// One solution of each exercise of 002.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows(), b.columns());
  for (index_t i = 0; i < c.rows(); ++i) {
    for (index_t j = 0; j < c.columns(); ++j) {
      for (index_t k = 0; k < a.columns(); ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

Matrix scaled_scores(const Matrix& q, const Matrix& k) {
  Matrix scores(q.rows(), k.rows());
  for (index_t i = 0; i < scores.rows(); ++i) {
    for (index_t j = 0; j < scores.columns(); ++j) {
      for (index_t c = 0; c < q.columns(); ++c) scores(i, j) += q(i, c) * k(j, c);
      scores(i, j) /= std::sqrt(static_cast<double>(q.columns()));
    }
  }
  return scores;
}

Matrix weights_of(const Matrix& scores) {
  Matrix weights = scores;
  for (index_t i = 0; i < weights.rows(); ++i) {
    double sum = 0;
    for (index_t j = 0; j < weights.columns(); ++j) sum += std::exp(scores(i, j));
    for (index_t j = 0; j < weights.columns(); ++j) weights(i, j) = std::exp(scores(i, j)) / sum;
  }
  return weights;
}

Matrix head(const Matrix& x, const Matrix& w_query, const Matrix& w_key, const Matrix& w_value) {
  const Matrix scores = scaled_scores(product(x, w_query), product(x, w_key));
  return product(weights_of(scores), product(x, w_value));
}

}  // namespace tessera::exercises
