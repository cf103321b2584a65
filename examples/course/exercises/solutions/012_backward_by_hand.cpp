// One solution of each exercise of 012.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

// -log p_c = log(sum_k exp(x_k)) - x_c, so its derivative by x_j is p_j, minus 1 if j is c.
Matrix cross_entropy_gradient(const Matrix& x, const std::vector<index_t>& target) {
  const auto rows = static_cast<double>(x.rows());
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    double sum = 0;
    for (index_t j = 0; j < x.columns(); ++j) sum += std::exp(x(i, j));
    for (index_t j = 0; j < x.columns(); ++j) {
      const double right = target[static_cast<std::size_t>(i)] == j ? 1 : 0;
      dx(i, j) = (std::exp(x(i, j)) / sum - right) / rows;
    }
  }
  return dx;
}

// From last to first: dh = dy W2 if h was above 0, then dx = dh W1.
Matrix feed_forward_backward(const Matrix& x, const Matrix& w1, const Matrix& w2,
                             const Matrix& dy) {
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t f = 0; f < w1.rows(); ++f) {
      double h = 0;
      for (index_t k = 0; k < x.columns(); ++k) h += x(i, k) * w1(f, k);
      if (h <= 0) continue;
      double dh = 0;
      for (index_t j = 0; j < dy.columns(); ++j) dh += dy(i, j) * w2(j, f);
      for (index_t k = 0; k < x.columns(); ++k) dx(i, k) += dh * w1(f, k);
    }
  }
  return dx;
}

// As for layer norm, but the mean of x is not subtracted, so only the second mean is.
Matrix rms_norm_backward(const Matrix& x, const Matrix& gamma, const Matrix& dy, double eps) {
  const auto width = static_cast<double>(x.columns());
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    double squares = 0;
    for (index_t k = 0; k < x.columns(); ++k) squares += x(i, k) * x(i, k);
    const double r = 1 / std::sqrt(squares / width + eps);
    double mean_gn = 0;
    for (index_t k = 0; k < x.columns(); ++k) {
      mean_gn += dy(i, k) * gamma(0, k) * x(i, k) * r / width;
    }
    for (index_t j = 0; j < x.columns(); ++j) {
      dx(i, j) = r * (dy(i, j) * gamma(0, j) - x(i, j) * r * mean_gn);
    }
  }
  return dx;
}

}  // namespace tessera::exercises
