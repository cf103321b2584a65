// Mistakes that can be planted, and how the hint begins that each must get.
//
// average: g is added whole
// forgotten: b keeps its old value
// rate: lr multiplies b
// old: the old b is used
// sign: w must go against the gradient
// whole: a quotient of whole numbers
// total: the line falls over the steps without warm-up
// equal: this is the mean of means
// sum: this is a sum
#include "examples/course/exercises/011_a_training_loop_by_hand.h"

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

void momentum_step(Matrix& w, Matrix& b, const Matrix& g, double lr, double momentum) {
  for (index_t i = 0; i < w.rows(); ++i) {
    for (index_t j = 0; j < w.columns(); ++j) {
      const double factor = planted("average") ? 1 - momentum : planted("rate") ? lr : 1;
      const double old = b(i, j);
      const double now = momentum * old + factor * g(i, j);
      w(i, j) -= (planted("sign") ? -lr : lr) * (planted("old") ? old : now);
      if (!planted("forgotten")) b(i, j) = now;
    }
  }
}

double linear_schedule(index_t step, index_t warmup, index_t total) {
  const bool rises = step < warmup;
  const index_t part = rises ? step : total - step;
  const index_t whole = rises ? warmup : planted("total") ? total : total - warmup;
  if (planted("whole")) return static_cast<double>(part / whole);
  return static_cast<double>(part) / static_cast<double>(whole);
}

Matrix gradient_of_the_batch(const std::vector<Matrix>& mean_gradients,
                             const std::vector<index_t>& counts) {
  Matrix total(mean_gradients.at(0).rows(), mean_gradients.at(0).columns());
  double examples = 0;
  for (const index_t count : counts) examples += static_cast<double>(count);
  for (std::size_t p = 0; p < counts.size(); ++p) {
    const double parts = static_cast<double>(counts.size());
    const double count = static_cast<double>(counts[p]);
    const double share = planted("equal") ? 1 / parts : planted("sum") ? count : count / examples;
    for (index_t i = 0; i < total.rows(); ++i) {
      for (index_t j = 0; j < total.columns(); ++j) total(i, j) += share * mean_gradients[p](i, j);
    }
  }
  return total;
}

}  // namespace tessera::exercises
