// Matrices and tensors for the lessons that compute by hand.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "examples/course/matrix.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/print.h"
#include "tensor/tensor.h"

namespace tessera::examples {

inline Tensor to_tensor(const Matrix& m) {
  return from_vector(m.values(), {m.rows(), m.columns()});
}

/// Merges all axes except the last one into rows.
inline Matrix to_matrix(const Tensor& x) {
  const index_t columns = x.size(-1);
  return Matrix(x.count() / columns, columns, x.to(kFloat64).to_vector<double>());
}

/// A line with a title, then the numbers in NumPy's format, then an empty line.
inline void show(const std::string& title, const Tensor& x) {
  std::printf("%s\n%s\n\n", title.c_str(),
              to_string(x, {.precision = 4, .suppress = true}).c_str());
}
inline void show(const std::string& title, const Matrix& m) {
  show(title, to_tensor(m));
}

/// The largest |a - b|; NaN if there is one. **Errors**: different shapes.
inline double largest_difference(const Matrix& a, const Matrix& b) {
  require(a.rows() == b.rows() && a.columns() == b.columns(), "largest_difference",
          "shapes must be equal, got ", a.shape(), " and ", b.shape());
  double largest = 0;
  for (std::size_t i = 0; i < a.values().size(); ++i) {
    const double difference = std::abs(a.values()[i] - b.values()[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

/// Prints that `hand` and `library` agree within `tolerance`. **Errors**: they do not.
inline void check_close(const std::string& what, const Matrix& hand, const Matrix& library,
                        double tolerance = 1e-12) {
  const double difference = largest_difference(hand, library);
  require(difference <= tolerance, what.c_str(), "must be the same by hand and by the library to ",
          tolerance, ", got a difference of ", difference);
  std::printf("%s: by hand and by the library, no number differs by more than %g\n\n", what.c_str(),
              tolerance);
}

}  // namespace tessera::examples
