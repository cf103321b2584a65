// Mistakes that can be planted, and how the hint begins that each must get.
//
// sign: the signs are reversed
// no_one: 1 is subtracted from p
// sum: the loss is a mean
// classes: N is the number of rows
// no_relu: dh is 0 where h was negative
// gradient: the sign of h decides
// direct: r depends on x too
// centred: nothing is centred
// no_gamma: gamma multiplies dy first
#include "examples/course/exercises/010_backward_by_hand.h"

#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix cross_entropy_gradient(const Matrix& x, const std::vector<index_t>& right_class) {
  const auto rows = static_cast<double>(planted("sum")       ? 1
                                        : planted("classes") ? x.columns()
                                                             : x.rows());
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    double sum = 0;
    for (index_t j = 0; j < x.columns(); ++j) sum += std::exp(x(i, j));
    for (index_t j = 0; j < x.columns(); ++j) {
      const bool is_right = right_class[static_cast<std::size_t>(i)] == j && !planted("no_one");
      const double sign = planted("sign") ? -1 : 1;
      dx(i, j) = sign * (std::exp(x(i, j)) / sum - (is_right ? 1 : 0)) / rows;
    }
  }
  return dx;
}

Matrix feed_forward_backward(const Matrix& x, const Matrix& w1, const Matrix& w2,
                             const Matrix& dy) {
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t f = 0; f < w1.rows(); ++f) {
      double h = 0;
      for (index_t k = 0; k < x.columns(); ++k) h += x(i, k) * w1(f, k);
      double dh = 0;
      for (index_t j = 0; j < dy.columns(); ++j) dh += dy(i, j) * w2(j, f);
      if ((planted("gradient") ? dh : h) <= 0 && !planted("no_relu")) continue;
      for (index_t k = 0; k < x.columns(); ++k) dx(i, k) += dh * w1(f, k);
    }
  }
  return dx;
}

Matrix rms_norm_backward(const Matrix& x, const Matrix& gamma, const Matrix& dy, double eps) {
  const auto width = static_cast<double>(x.columns());
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    double squares = 0;
    for (index_t k = 0; k < x.columns(); ++k) squares += x(i, k) * x(i, k);
    const double r = 1 / std::sqrt(squares / width + eps);
    const auto g = [&](index_t k) { return dy(i, k) * (planted("no_gamma") ? 1 : gamma(0, k)); };
    double mean_g = 0, mean_gn = 0;
    for (index_t k = 0; k < x.columns(); ++k) {
      if (planted("centred")) mean_g += g(k) / width;
      if (!planted("direct")) mean_gn += g(k) * x(i, k) * r / width;
    }
    for (index_t j = 0; j < x.columns(); ++j) {
      dx(i, j) = r * (g(j) - mean_g - x(i, j) * r * mean_gn);
    }
  }
  return dx;
}

}  // namespace tessera::exercises
