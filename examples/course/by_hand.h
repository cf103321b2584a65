// The loops that several lessons share, and comparisons with the library's results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <tessera/tensor/print.h>
#include "examples/course/matrix.h"

namespace tessera::examples {

inline Matrix sum_of(const Matrix& a, const Matrix& b) {
  return matrix_of(a.rows(), a.columns(), [&](index_t i, index_t j) { return a(i, j) + b(i, j); });
}

inline Matrix scaled(const Matrix& m, double factor) {
  return matrix_of(m.rows(), m.columns(), [&](index_t i, index_t j) { return m(i, j) * factor; });
}

inline Matrix transposed(const Matrix& m) {
  return matrix_of(m.columns(), m.rows(), [&](index_t i, index_t j) { return m(j, i); });
}

/// a b: element (i, j) is row i of a times column j of b.
inline Matrix product(const Matrix& a, const Matrix& b) {
  return matrix_of(a.rows(), b.columns(), [&](index_t i, index_t j) {
    double sum = 0;
    for (index_t k = 0; k < a.columns(); ++k) sum += a(i, k) * b(k, j);
    return sum;
  });
}

/// exp(x_ij) / sum_k exp(x_ik). The row's largest number is subtracted first, because exp(1000) is
/// infinite.
inline Matrix softmax_of_rows(Matrix x) {
  for (index_t i = 0; i < x.rows(); ++i) {
    double largest = -INFINITY;
    for (index_t j = 0; j < x.columns(); ++j) largest = std::max(largest, x(i, j));
    double sum = 0;
    for (index_t j = 0; j < x.columns(); ++j) sum += x(i, j) = std::exp(x(i, j) - largest);
    for (index_t j = 0; j < x.columns(); ++j) x(i, j) /= sum;
  }
  return x;
}

/// A line with a title, then the numbers in NumPy's format, then an empty line.
inline void show(const std::string& title, const Tensor& x) {
  std::printf("%s\n%s\n\n", title.c_str(),
              to_string(x, {.precision = 4, .suppress = true}).c_str());
}

/// The largest |a - b|; NaN if there is one. **Errors**: different shapes.
inline double largest_difference(const Matrix& a, const Matrix& b) {
  require(a.rows() == b.rows() && a.columns() == b.columns(), "largest_difference",
          "shapes must be equal, got ", a.shape(), " and ", b.shape());
  double largest = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i) {
    const double difference = std::abs(a.values()[i] - b.values()[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

/// **Errors**: `hand` and `library` differ by more than `tolerance`.
inline void require_close(const std::string& what, const Matrix& hand, const Matrix& library,
                          double tolerance) {
  const double difference = largest_difference(hand, library);
  require(difference <= tolerance, what.c_str(), "must be the same by hand and by the library to ",
          tolerance, ", got a difference of ", difference);
}

/// The same; then prints that they agree.
inline void check_close(const std::string& what, const Matrix& hand, const Matrix& library,
                        double tolerance = 1e-12) {
  require_close(what, hand, library, tolerance);
  std::printf("%s: by hand and by the library, no number differs by more than %g\n\n", what.c_str(),
              tolerance);
}

}  // namespace tessera::examples
