// Mistakes that can be planted, and how the hint begins that each must get.
//
// causal: this mask is causal too
// all: tokens of two sequences
// reversed: 1 is kept and 0 is masked
// after: the sum is over the kept keys only
// multiplied: 0 times NaN is NaN
// overflow: exp(1000) is infinite
// empty: 0 / 0 is NaN
// rows: all see a global token
// columns: a global token sees all
#include "examples/course/exercises/006_masks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix packed_keep(const std::vector<index_t>& lengths) {
  const index_t tokens = std::accumulate(lengths.begin(), lengths.end(), index_t{0});
  Matrix keep(tokens, tokens, planted("all") || planted("reversed") ? 1 : 0);
  index_t first = 0;
  for (const index_t length : lengths) {
    for (index_t i = first; i < first + length; ++i) {
      const index_t end = planted("causal") ? i + 1 : first + length;
      for (index_t j = first; j < end; ++j) keep(i, j) = planted("reversed") ? 0 : 1;
    }
    first += length;
  }
  return keep;
}

Matrix masked_softmax(const Matrix& scores, const Matrix& keep) {
  Matrix weights(scores.rows(), scores.columns());
  for (index_t i = 0; i < scores.rows(); ++i) {
    double largest = -INFINITY;
    for (index_t j = 0; j < scores.columns(); ++j) {
      if (keep(i, j) == 1) largest = std::max(largest, scores(i, j));
    }
    if (planted("overflow")) largest = 0;
    double sum = 0;
    for (index_t j = 0; j < scores.columns(); ++j) {
      const double weight = std::exp(scores(i, j) - largest);
      if (keep(i, j) == 1) weights(i, j) = weight;
      if (keep(i, j) == 1 || planted("after")) sum += weight;
      if (planted("multiplied") && keep(i, j) == 0) sum += weights(i, j) = keep(i, j) * weight;
    }
    for (index_t j = 0; j < scores.columns(); ++j) {
      if (keep(i, j) == 1 || planted("empty") || planted("multiplied")) weights(i, j) /= sum;
    }
  }
  return weights;
}

Matrix global_and_window(index_t tokens, index_t window, const std::vector<index_t>& globals) {
  const auto is_global = [&](index_t i) {
    return std::find(globals.begin(), globals.end(), i) != globals.end();
  };
  Matrix keep(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) {
    for (index_t j = 0; j < tokens; ++j) {
      const bool is_seen = is_global(j) && !planted("rows");
      const bool sees = is_global(i) && !planted("columns");
      keep(i, j) = std::abs(i - j) <= window || sees || is_seen ? 1 : 0;
    }
  }
  return keep;
}

}  // namespace tessera::exercises
