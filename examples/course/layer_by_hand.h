// The parts of an encoder layer by plain loops, which lessons 006, 009 and 012 share.
#pragma once

#include <cmath>

#include "examples/course/by_hand.h"

namespace tessera::examples {

/// x W^T + b: number j of a row is b_j and the products of the row with row j of W.
inline Matrix linear(const Matrix& x, const Matrix& w, const Matrix& b) {
  return matrix_of(x.rows(), w.rows(), [&](index_t i, index_t j) {
    double sum = b(0, j);
    for (index_t k = 0; k < w.columns(); ++k) sum += x(i, k) * w(j, k);
    return sum;
  });
}

/// softmax(Q K^T / sqrt(d)): row i has the weights of query i.
inline Matrix attention_weights(const Matrix& q, const Matrix& k) {
  const double root = std::sqrt(static_cast<double>(q.columns()));
  return softmax_of_rows(scaled(product(q, transposed(k)), 1 / root));
}

/// The columns h d to (h + 1) d of m, with d = D / heads.
inline Matrix columns_of_head(const Matrix& m, index_t h, index_t heads) {
  const index_t d = m.columns() / heads;
  return matrix_of(m.rows(), d, [&](index_t i, index_t c) { return m(i, h * d + c); });
}

/// The attention of all heads; each reads and writes its own columns.
inline Matrix heads_of(const Matrix& q, const Matrix& k, const Matrix& v, index_t heads) {
  Matrix all(q.rows(), q.columns());
  for (index_t h = 0; h < heads; ++h) {
    const auto of_head = [&](const Matrix& m) { return columns_of_head(m, h, heads); };
    const Matrix output = product(attention_weights(of_head(q), of_head(k)), of_head(v));
    for (index_t i = 0; i < output.rows(); ++i) {
      for (index_t c = 0; c < output.columns(); ++c)
        all(i, h * output.columns() + c) = output(i, c);
    }
  }
  return all;
}

constexpr double kNormEps = 1e-5;

struct Normalised {
  Matrix n;       // (x - mean) / sqrt(variance + eps), for each row
  Matrix rscale;  // 1 / sqrt(variance + eps), one per row
};

inline Normalised normalise(const Matrix& x, double eps = kNormEps) {
  const auto width = static_cast<double>(x.columns());
  Matrix n(x.rows(), x.columns());
  Matrix rscale(x.rows(), 1);
  for (index_t i = 0; i < x.rows(); ++i) {
    double mean = 0;
    double variance = 0;
    for (index_t j = 0; j < x.columns(); ++j) mean += x(i, j) / width;
    for (index_t j = 0; j < x.columns(); ++j) variance += std::pow(x(i, j) - mean, 2) / width;
    rscale(i, 0) = 1 / std::sqrt(variance + eps);
    for (index_t j = 0; j < x.columns(); ++j) n(i, j) = (x(i, j) - mean) * rscale(i, 0);
  }
  return {n, rscale};
}

/// n gamma + beta.
inline Matrix layer_norm(const Matrix& x, const Matrix& gamma, const Matrix& beta,
                         double eps = kNormEps) {
  const Matrix n = normalise(x, eps).n;
  return matrix_of(x.rows(), x.columns(),
                   [&](index_t i, index_t j) { return n(i, j) * gamma(0, j) + beta(0, j); });
}

}  // namespace tessera::examples
