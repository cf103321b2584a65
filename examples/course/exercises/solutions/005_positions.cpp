// One solution of each exercise of 005.
#include <cstdlib>

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

double frequency(index_t k, index_t width) {
  return std::pow(10000.0, -2 * static_cast<double>(k) / static_cast<double>(width));
}

Matrix moved(const Matrix& row, index_t distance) {
  Matrix result(1, row.columns());
  for (index_t k = 0; k < row.columns() / 2; ++k) {
    const double angle = static_cast<double>(distance) * frequency(k, row.columns());
    const double sine = row(0, 2 * k);
    const double cosine = row(0, 2 * k + 1);
    result(0, 2 * k) = sine * std::cos(angle) + cosine * std::sin(angle);
    result(0, 2 * k + 1) = cosine * std::cos(angle) - sine * std::sin(angle);
  }
  return result;
}

Matrix rotated_interleaved(const Matrix& x) {
  Matrix y(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t k = 0; k < x.columns() / 2; ++k) {
      const double angle = static_cast<double>(i) * frequency(k, x.columns());
      const double a = x(i, 2 * k);
      const double b = x(i, 2 * k + 1);
      y(i, 2 * k) = a * std::cos(angle) - b * std::sin(angle);
      y(i, 2 * k + 1) = b * std::cos(angle) + a * std::sin(angle);
    }
  }
  return y;
}

Matrix alibi(index_t tokens, index_t head, index_t heads) {
  const double slope =
      std::pow(2.0, -8 * static_cast<double>(head + 1) / static_cast<double>(heads));
  Matrix bias(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) {
    for (index_t j = 0; j < tokens; ++j) bias(i, j) = -slope * static_cast<double>(std::abs(i - j));
  }
  return bias;
}

}  // namespace tessera::exercises
