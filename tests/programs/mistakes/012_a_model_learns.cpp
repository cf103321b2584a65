// Mistakes, and how the hint begins that each must get.
//
// 1: this is the loss of equal guesses
// 2: this is the logarithm to base 2
// 3: this is -log of the largest share
// 4: all classes count alike
// 5: this is the sum of the losses
// 6: 0 times log 0 is NaN
#include "examples/course/exercises/012_a_model_learns.h"

#include <algorithm>
#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

double base_rate(const std::vector<index_t>& counts) {
  const auto classes = static_cast<double>(counts.size());
  double total = 0;
  for (const index_t count : counts) total += static_cast<double>(count);
  const auto largest = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  if (planted(1)) return std::log(classes);
  if (planted(3)) return -std::log(largest / total);
  double loss = 0;
  for (const index_t count : counts) {
    const double share = static_cast<double>(count) / total;
    const double part = planted(2) ? std::log2(share) : std::log(share);
    if (count > 0 || planted(6)) loss -= (planted(4) ? 1 / classes : share) * part;
  }
  return planted(5) ? loss * total : loss;
}

}  // namespace tessera::exercises
