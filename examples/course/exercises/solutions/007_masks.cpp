// One solution of each exercise of 007.
#include <numeric>

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix packed_keep(const std::vector<index_t>& lengths) {
  const index_t tokens = std::accumulate(lengths.begin(), lengths.end(), index_t{0});
  Matrix keep(tokens, tokens);
  index_t first = 0;
  for (const index_t length : lengths) {
    for (index_t i = first; i < first + length; ++i) {
      for (index_t j = first; j < first + length; ++j) keep(i, j) = 1;
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
    double sum = 0;
    for (index_t j = 0; j < scores.columns(); ++j) {
      if (keep(i, j) == 1) sum += weights(i, j) = std::exp(scores(i, j) - largest);
    }
    for (index_t j = 0; j < scores.columns(); ++j) {
      if (keep(i, j) == 1) weights(i, j) /= sum;  // rows without a kept key stay 0
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
      keep(i, j) = std::abs(i - j) <= window || is_global(i) || is_global(j) ? 1 : 0;
    }
  }
  return keep;
}

}  // namespace tessera::exercises
