// One solution of the exercise of 014.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

double baseline_loss(const std::vector<index_t>& counts) {
  double total = 0;
  for (const index_t count : counts) total += static_cast<double>(count);
  double loss = 0;
  for (const index_t count : counts) {
    const double share = static_cast<double>(count) / total;
    if (count > 0) loss -= share * std::log(share);
  }
  return loss;
}

}  // namespace tessera::exercises
