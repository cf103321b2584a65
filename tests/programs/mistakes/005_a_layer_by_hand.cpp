// Mistakes that can be planted, and how the hint begins that each must get.
//
// sum: the root is of the mean
// centred: the mean is not subtracted
// unweighted: each column has its weight
// eps: eps is added before the root
// gate: relu is of u only
// no_relu: relu(u) is missing
// no_output: attention has a fourth product
// no_bias: each of the six products has a bias
// one_norm: there are two norms
#include "examples/course/exercises/005_a_layer_by_hand.h"

#include <algorithm>
#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix rms_norm(const Matrix& x, const Matrix& weight, double eps) {
  Matrix y(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    const auto width = static_cast<double>(x.columns());
    double mean = 0;
    for (index_t k = 0; k < x.columns(); ++k) mean += planted("centred") ? x(i, k) / width : 0;
    double squares = 0;
    for (index_t k = 0; k < x.columns(); ++k) squares += (x(i, k) - mean) * (x(i, k) - mean);
    if (!planted("sum")) squares /= width;
    const double rms = planted("eps") ? std::sqrt(squares) + eps : std::sqrt(squares + eps);
    for (index_t j = 0; j < x.columns(); ++j) {
      y(i, j) = (x(i, j) - mean) / rms * (planted("unweighted") ? 1 : weight(0, j));
    }
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
      const double h = planted("gate")      ? u * std::max(g, 0.0)
                       : planted("no_relu") ? u * g
                                            : std::max(u, 0.0) * g;
      for (index_t j = 0; j < y.columns(); ++j) y(i, j) += h * w2(j, f);
    }
  }
  return y;
}

index_t parameters_of_a_layer(index_t width, index_t hidden) {
  const index_t bias = planted("no_bias") ? 0 : 1;
  const index_t attention = (planted("no_output") ? 3 : 4) * width * (width + bias);
  const index_t feed_forward = hidden * (width + bias) + width * (hidden + bias);
  const index_t norms = (planted("one_norm") ? 1 : 2) * (width + width);
  return attention + feed_forward + norms;
}

}  // namespace tessera::exercises
