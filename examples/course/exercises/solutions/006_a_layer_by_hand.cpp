// One solution of each exercise of 006.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix rms_norm(const Matrix& x, const Matrix& weight, double eps) {
  Matrix y(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    double squares = 0;
    for (index_t k = 0; k < x.columns(); ++k) squares += x(i, k) * x(i, k);
    const double rms = std::sqrt(squares / static_cast<double>(x.columns()) + eps);
    for (index_t j = 0; j < x.columns(); ++j) y(i, j) = x(i, j) / rms * weight(0, j);
  }
  return y;
}

Matrix gated_feed_forward(const Matrix& x, const Matrix& w1, const Matrix& w2) {
  const index_t hidden = w1.rows() / 2;
  Matrix y(x.rows(), w2.rows());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t f = 0; f < hidden; ++f) {
      double u = 0;
      double g = 0;
      for (index_t k = 0; k < x.columns(); ++k) {
        u += x(i, k) * w1(f, k);
        g += x(i, k) * w1(hidden + f, k);
      }
      const double h = std::max(u, 0.0) * g;
      for (index_t j = 0; j < y.columns(); ++j) y(i, j) += h * w2(j, f);
    }
  }
  return y;
}

index_t parameters_of_a_layer(index_t width, index_t hidden) {
  const index_t attention = 3 * width * width + 3 * width + width * width + width;
  const index_t feed_forward = hidden * width + hidden + width * hidden + width;
  const index_t norms = 2 * (width + width);
  return attention + feed_forward + norms;
}

}  // namespace tessera::exercises
