// One solution of each exercise of 013.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

void momentum_step(Matrix& w, Matrix& b, const Matrix& g, double lr, double momentum) {
  for (index_t i = 0; i < w.rows(); ++i) {
    for (index_t j = 0; j < w.columns(); ++j) {
      b(i, j) = momentum * b(i, j) + g(i, j);
      w(i, j) -= lr * b(i, j);
    }
  }
}

double linear_schedule(index_t step, index_t warmup, index_t total) {
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  return static_cast<double>(total - step) / static_cast<double>(total - warmup);
}

// Each mean times its count is a sum; the sums are added, and divided once at the end.
Matrix gradient_of_the_batch(const std::vector<Matrix>& mean_gradients,
                             const std::vector<index_t>& counts) {
  Matrix total(mean_gradients.at(0).rows(), mean_gradients.at(0).columns());
  double examples = 0;
  for (const index_t count : counts) examples += static_cast<double>(count);
  for (std::size_t p = 0; p < counts.size(); ++p) {
    const double share = static_cast<double>(counts[p]) / examples;
    for (index_t i = 0; i < total.rows(); ++i) {
      for (index_t j = 0; j < total.columns(); ++j) total(i, j) += share * mean_gradients[p](i, j);
    }
  }
  return total;
}

}  // namespace tessera::exercises
