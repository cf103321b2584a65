// Mistakes that can be planted, and how the hint begins that each must get.
//
// equal: this is the loss of equal guesses
// base_2: this is the logarithm to base 2
// largest: this is -log of the largest share
// classes: all classes count alike
// total: this is the sum of the losses
// zero: 0 times log 0 is NaN
// whole: the shares are quotients of whole numbers
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
  if (planted("equal")) return std::log(classes);
  if (planted("largest")) return -std::log(largest / total);
  double loss = 0;
  for (const index_t count : counts) {
    const double exact = static_cast<double>(count) / total;
    const double share = planted("whole") ? std::floor(exact) : exact;
    const double part = planted("base_2") ? std::log2(share) : std::log(share);
    if (count > 0 || planted("zero")) loss -= (planted("classes") ? 1 / classes : share) * part;
  }
  return planted("total") ? loss * total : loss;
}

}  // namespace tessera::exercises
