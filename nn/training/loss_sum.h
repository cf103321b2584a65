// The result of a trainer's loss function: the sum of the examples' losses.
#pragma once

#include "nn/loss.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// The result of the loss function for some examples: the SUM of their targets' losses, not the
/// mean, and the number of targets. The trainer divides the sum of a whole batch by all of its
/// targets (shards.h says why).
struct LossSum {
  Tensor loss;         // a scalar; not read where count is 0
  double count = 0;    // of targets, or the sum of their weights
  double correct = 0;  // how many of them were predicted right, for the accuracy
};

/// The cross-entropy of scores and target classes as a LossSum: targets that are not ignored count,
/// and are correct where theirs is the greatest score. `options.reduction` is not read.
///
/// **Shapes**: as cross_entropy. **Errors**: as cross_entropy; a weight of the classes.
LossSum summed_cross_entropy(const Tensor& scores, const Tensor& targets,
                             CrossEntropyOptions options = {});

/// The squared error of predictions and target values as a LossSum: each element counts, and none
/// is correct or wrong. **Shapes**, **Errors**: as mse_loss.
LossSum summed_squared_error(const Tensor& x, const Tensor& targets);

/// The contrastive loss as a LossSum: each query counts, and is correct where its own key is the
/// nearest. The other keys are negatives, so a trainer must compute a batch in one shard.
/// `options.reduction` is not read.
///
/// **Shapes**, **Errors**: as contrastive; symmetric is the mean of both directions, and `correct`
/// counts only the queries.
/// **Source**: sentence-transformers' MultipleNegativesRankingLoss, with temperature 1 / scale.
LossSum summed_contrastive(const Tensor& queries, const Tensor& keys,
                           ContrastiveOptions options = {});

/// Sums of losses as numbers, of a batch, an epoch or an evaluation.
struct LossTotals {
  double loss = 0;
  double count = 0;
  double correct = 0;

  double mean() const { return loss / count; }  // NaN where there are no targets
  double accuracy() const { return correct / count; }
  void add(const LossTotals& other);
};

/// The numbers of a LossSum; zeros where it has no targets. **Errors**: a count that is negative or
/// not finite.
LossTotals totals_of(const LossSum& sum);

}  // namespace tessera::nn
