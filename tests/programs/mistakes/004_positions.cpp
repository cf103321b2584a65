// Mistakes that can be planted, and how the hint begins that each must get.
//
// backwards: the pairs turn backwards
// exchanged: sine and cosine are exchanged
// rotary_backwards: the pair turns backwards
// new_a: b is computed from the new a
// halves: a pair is columns 2k and 2k + 1
// from_one: row 0 is at position 0
// sign: far keys must get less
// head: heads are counted from 0
// whole: all pairs turn alike
// whole_slope: 8 (head + 1) / heads of whole numbers
// signed: the distance is |i - j|
#include "examples/course/exercises/004_positions.h"

#include <cmath>
#include <cstdlib>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

namespace {

double frequency(index_t k, index_t width) {
  if (planted("whole")) return std::pow(10000.0, static_cast<double>(-2 * k / width));
  return std::pow(10000.0, -2 * static_cast<double>(k) / static_cast<double>(width));
}

}  // namespace

Matrix moved(const Matrix& row, index_t distance) {
  Matrix result(1, row.columns());
  for (index_t k = 0; k < row.columns() / 2; ++k) {
    const double angle = static_cast<double>(planted("backwards") ? -distance : distance) *
                         frequency(k, row.columns());
    const double sine = row(0, 2 * k);
    const double cosine = row(0, 2 * k + 1);
    const index_t at = planted("exchanged") ? 1 : 0;
    result(0, 2 * k + at) = sine * std::cos(angle) + cosine * std::sin(angle);
    result(0, 2 * k + 1 - at) = cosine * std::cos(angle) - sine * std::sin(angle);
  }
  return result;
}

Matrix turned_interleaved(const Matrix& x) {
  Matrix y(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t k = 0; k < x.columns() / 2; ++k) {
      const index_t position = planted("from_one") ? i + 1 : i;
      const double turn = static_cast<double>(position) * frequency(k, x.columns());
      const double angle = planted("rotary_backwards") ? -turn : turn;
      const index_t first = planted("halves") ? k : 2 * k;
      const index_t second = planted("halves") ? k + x.columns() / 2 : 2 * k + 1;
      const double a = x(i, first);
      const double b = x(i, second);
      y(i, first) = a * std::cos(angle) - b * std::sin(angle);
      y(i, second) = b * std::cos(angle) + (planted("new_a") ? y(i, first) : a) * std::sin(angle);
    }
  }
  return y;
}

Matrix alibi(index_t tokens, index_t head, index_t heads) {
  const double exponent =
      -8 * static_cast<double>(planted("head") ? head : head + 1) / static_cast<double>(heads);
  const double slope = std::pow(2.0, planted("whole_slope") ? std::trunc(exponent) : exponent);
  Matrix bias(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) {
    for (index_t j = 0; j < tokens; ++j) {
      const index_t distance = planted("signed") ? i - j : std::abs(i - j);
      bias(i, j) = (planted("sign") ? slope : -slope) * static_cast<double>(distance);
    }
  }
  return bias;
}

}  // namespace tessera::exercises
