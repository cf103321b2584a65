// Linear probes of vectors, and the similarity of the vectors of two layers.
#pragma once

#include <cstdint>

#include "tessera/tensor/tensor.h"

namespace tessera::inspect {

/// The options of linear_probe().
struct ProbeOptions {
  double held_out = 0.25;      // fraction of the rows for testing
  double weight_decay = 1e-2;  // AdamW's
  index_t steps = 200;         // of training, each on all rows not held out
  std::uint64_t seed = 0;      // random seed of the split, the weights and the shuffle
};

/// The result of linear_probe(): accuracies from 0 to 1.
struct Probe {
  double accuracy = 0;           // on the rows held out
  double shuffled = 0;           // if all labels are shuffled before training: by chance
  double majority_accuracy = 0;  // of always answering the most frequent label held out
};

/// Trains a linear classifier of vectors by cross-entropy. Columns are scaled so that the training
/// rows have mean 0 and standard deviation 1.
///
/// **Shapes**: x (N, D), labels (N) int64, from 0. **Errors**: different shapes; labels of a
/// different dtype; D = 0; fewer than 2 rows for training or testing; a negative label; inf or NaN;
/// negative steps; a weight_decay that is negative or not finite.
/// **Source**: Alain and Bengio, "Understanding Intermediate Layers Using Linear Classifier
/// Probes", 2016; shuffled labels: Hewitt and Liang, "Designing and Interpreting Probes with
/// Control Tasks", 2019.
Probe linear_probe(const Tensor& x, const Tensor& labels, const ProbeOptions& options = {});

/// `|Y^T X|^2 / (|X^T X| |Y^T Y|)`, where X and Y are x and y minus the means of their columns, and
/// |A| is the Frobenius norm. The result is 1 if Y is X rotated and scaled. If N is much larger
/// than D and E, and no linear map connects x and y, the result is near 0.
///
/// **Shapes**: x (N, D), y (N, E); row n of x and row n of y are from the same text. **Errors**:
/// different shapes; N below 2; inf or NaN; only constant columns.
/// **Source**: Kornblith et al., "Similarity of Neural Network Representations Revisited", 2019.
double linear_cka(const Tensor& x, const Tensor& y);

}  // namespace tessera::inspect
