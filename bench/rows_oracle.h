// The definitions of softmax and layer norm in double, which check our results and those of other
// libraries.
#pragma once

#include <cmath>

#include "bench/case.h"

namespace tessera::bench {

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
