// A linear model of a text's words and of its pairs of neighbouring words.
#pragma once

#include "tensor/tensor.h"

namespace tessera::models {

struct PairClassifierOptions {
  index_t vocabulary_size;
  index_t classes;
  index_t buckets = 131'072;  // rows for all pairs
  double scale = 100;         // of the rows: how much faster than other parameters they learn
};

/// `scale / sqrt(2n - 1) (sum_t weight[w_t] + sum_t weight[V + hash(w_{t-1}, w_t)])`: scores of a text
/// of n words.
///
/// It knows nothing of order beyond its pairs, but learns each from few examples, so that it errs on
/// other texts than an encoder does. All pairs share the rows behind the vocabulary's: with half as
/// many pairs as buckets, two of five share theirs with another.
///
/// **Shapes**: tokens (B, T) int64, lengths (B) int64 -> (B, C); weight (V + buckets, C), zeros at
/// first. What lies behind a length changes no bit; without lengths all is real.
/// **Errors**: tokens of another rank or outside [0, V), lengths that are not B numbers from 1 to T,
/// options below 1, a scale that is not finite and above 0.
/// **Source**: Joulin et al., "Bag of tricks for efficient text classification", 2016, section 2.2,
/// with one matrix in place of two.
struct PairClassifier {
  Tensor weight;
  index_t vocabulary_size;
  double scale;

  explicit PairClassifier(const PairClassifierOptions& options);

  Tensor operator()(const Tensor& tokens, const Tensor& lengths = {}) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }
};

}  // namespace tessera::models
