// Mistakes that can be planted, and how the hint begins that each must get.
//
// width: the products are divided by d
// undivided: the products are not divided
// columns: each column adds up to 1
// keys_root: the root is of the number of keys
// all: all weights together add up to 1
// running: the sum goes on from the row before
// keys: the weights mix keys
// exchanged: queries and keys are exchanged
#include "examples/course/exercises/001_one_head.h"

#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

namespace {

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows(), b.columns());
  for (index_t i = 0; i < c.rows(); ++i) {
    for (index_t j = 0; j < c.columns(); ++j) {
      for (index_t k = 0; k < a.columns(); ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

}  // namespace

Matrix scaled_scores(const Matrix& q, const Matrix& k) {
  const auto d = static_cast<double>(q.columns());
  const double divisor = planted("width")       ? d
                         : planted("undivided") ? 1
                         : planted("keys_root") ? std::sqrt(static_cast<double>(k.rows()))
                                                : std::sqrt(d);
  Matrix scores(q.rows(), k.rows());
  for (index_t i = 0; i < scores.rows(); ++i) {
    for (index_t j = 0; j < scores.columns(); ++j) {
      for (index_t c = 0; c < q.columns(); ++c) scores(i, j) += q(i, c) * k(j, c) / divisor;
    }
  }
  return scores;
}

Matrix weights_of(const Matrix& scores) {
  Matrix weights = scores;
  for (index_t i = 0; i < scores.rows(); ++i) {
    for (index_t j = 0; j < scores.columns(); ++j) {
      double sum = 0;
      for (index_t r = 0; r < scores.rows(); ++r) {
        for (index_t c = 0; c < scores.columns(); ++c) {
          const bool is_added =
              planted("all") ||
              (planted("columns") ? c == j : r == i || (planted("running") && r < i));
          if (is_added) sum += std::exp(scores(r, c));
        }
      }
      weights(i, j) = std::exp(scores(i, j)) / sum;
    }
  }
  return weights;
}

Matrix head(const Matrix& x, const Matrix& w_query, const Matrix& w_key, const Matrix& w_value) {
  const Matrix q = product(x, w_query), k = product(x, w_key);
  const Matrix scores = planted("exchanged") ? scaled_scores(k, q) : scaled_scores(q, k);
  return product(weights_of(scores), planted("keys") ? k : product(x, w_value));
}

}  // namespace tessera::exercises
