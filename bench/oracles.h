// Products, softmax and layer norm by their definitions in double, one element at a time. They
// check our results and those of other libraries.
#pragma once

#include <cmath>

#include "bench/case.h"

namespace tessera::bench {

// ---- products ----

/// sum_k a[i, k] b[k, j] of two matrices with any strides.
inline double dot(const Tensor& a, const Tensor& b, index_t i, index_t j) {
  const Elements x(a);
  const Elements y(b);
  double sum = 0;
  for (index_t k = 0; k < a.size(1); ++k) {
    sum += x[i * a.strides()[0] + k * a.strides()[1]] * y[k * b.strides()[0] + j * b.strides()[1]];
  }
  return sum;
}

/// The cost of `batch` products of matrices (m, k) and (k, n).
inline Cost product_cost(index_t m, index_t n, index_t k, index_t batch = 1,
                         DType dtype = kFloat32) {
  const auto of = [](index_t rows, index_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  const auto products = static_cast<double>(batch);
  return {.flops = 2 * products * of(m, n) * static_cast<double>(k),
          .bytes = bytes_of(products * (of(m, k) + of(k, n) + of(m, n)), dtype),
          .dtype = dtype};
}

/// The error that rounding may cause in a sum of k products of numbers up to 1: a random walk.
inline double product_tolerance(index_t k) {
  return 1e-6 * std::sqrt(static_cast<double>(k) + 1) * 4;
}

/// The largest error of c = a b, of two matrices or of batches of them.
inline double product_error(const Tensor& a, const Tensor& b, const Tensor& c) {
  const index_t m = a.size(-2), n = b.size(-1);
  const auto expected = [&](index_t e) {
    const auto one = [&](const Tensor& x) { return x.rank() > 2 ? x.select(0, e / (m * n)) : x; };
    return dot(one(a), one(b), e / n % m, e % n);
  };
  return sampled_error(c, 1000, expected, product_tolerance(a.size(-1)));
}

// ---- rows ----

/// Rows of a matrix.
struct Rows {
  index_t rows, columns;
  DType dtype = kFloat32;
};

/// The error of y against `expected(x, first, column)`, whose row begins at element `first` of x.
template <class Expected>
double rows_error(const Rows& s, const Tensor& x, const Tensor& y, const Expected& expected) {
  const Elements elements(x);
  const auto at = [&](index_t e) {
    return expected(elements, e / s.columns * s.columns, e % s.columns);
  };
  return sampled_error(y, 500, at, 1e-5);
}

inline double softmax_error(const Rows& s, const Tensor& x, const Tensor& y) {
  return rows_error(s, x, y, [&](const Elements& row, index_t first, index_t column) {
    double sum = 0;
    for (index_t j = 0; j < s.columns; ++j) sum += std::exp(row[first + j]);
    return std::exp(row[first + column]) / sum;
  });
}

inline double layer_norm_error(const Rows& s, const Tensor& x, const Tensor& y, double eps) {
  return rows_error(s, x, y, [&](const Elements& row, index_t first, index_t column) {
    const auto n = static_cast<double>(s.columns);
    double mean = 0;
    for (index_t j = 0; j < s.columns; ++j) mean += row[first + j] / n;
    double variance = 0;
    for (index_t j = 0; j < s.columns; ++j) {
      const double deviation = row[first + j] - mean;
      variance += deviation * deviation / n;
    }
    return (row[first + column] - mean) / std::sqrt(variance + eps);
  });
}

}  // namespace tessera::bench
