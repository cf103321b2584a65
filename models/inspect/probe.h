// Linear probes of vectors, and the similarity of the vectors of two layers.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace tessera::inspect {

/// The options of linear_probe().
struct ProbeOptions {
  double held_out = 0.25;      // fraction of the rows for testing
  double weight_decay = 1e-2;  // AdamW's
  index_t steps = 200;         // on all other rows at once
  std::uint64_t seed = 0;      // of the split, the weights and the shuffle
};

/// The result of linear_probe(): accuracies from 0 to 1.
struct Probe {
  double accuracy = 0;   // on the rows held out
  double shuffled = 0;   // the same after training on shuffled labels: the accuracy by chance
  double base_rate = 0;  // of the most frequent label among the rows held out
};

/// A linear classifier of vectors, trained by cross-entropy on columns of mean 0 and deviation 1.
///
/// **Shapes**: x (N, D), labels (N) int64, from 0. **Errors**: different shapes; fewer than 2 rows
/// in either part; a negative label; inf or NaN.
/// **Source**: Alain and Bengio, "Understanding Intermediate Layers Using Linear Classifier
/// Probes", 2016; shuffled labels: Hewitt and Liang, "Designing and Interpreting Probes with
/// Control Tasks", 2019.
Probe linear_probe(const Tensor& x, const Tensor& labels, const ProbeOptions& options = {});

/// `|Y^T X|^2 / (|X^T X| |Y^T Y|)` of centred columns, in Frobenius norms: 1 if Y is X rotated and
/// scaled, near 0 if nothing linear connects them.
///
/// **Shapes**: x (N, D), y (N, E), rows of the same texts. **Errors**: different shapes; N below 2;
/// inf or NaN; only constant columns.
/// **Source**: Kornblith et al., "Similarity of Neural Network Representations Revisited", 2019.
double linear_cka(const Tensor& x, const Tensor& y);

}  // namespace tessera::inspect
