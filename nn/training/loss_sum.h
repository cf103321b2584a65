// The result of a trainer's loss function: the sum of the examples' losses.
#pragma once

#include <limits>

#include "tessera/nn/loss.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// The result of the loss function for some examples: the SUM of their targets' losses, not the
/// mean, and the number of targets. The trainer divides the sum of a whole batch by the number of
/// the batch's targets (shards.h explains why). If the function returned a mean, the trainer
/// would divide it again: losses and gradients would be too small by a factor of `count`. For a
/// mean, return summed_mean().
struct LossSum {
  Tensor loss;  // a scalar; not read if count is 0
  // The number of targets, or the sum of their weights; 0: no targets. The default, NaN, makes a
  // forgotten count an error.
  double count = std::numeric_limits<double>::quiet_NaN();
  // The number of correct predictions, or the sum of their weights, for the accuracy. The default,
  // NaN, means that nothing counts them.
  double correct = std::numeric_limits<double>::quiet_NaN();
};

/// A mean loss of `count` targets as a LossSum: its sum is mean * count.
///
///     return nn::summed_mean(nn::smooth_l1_loss(model(x), y), y.count());
/// **Shapes**: mean () or one element. **Errors**: as totals_of, when the trainer reads the result.
LossSum summed_mean(const Tensor& mean, double count,
                    double correct = std::numeric_limits<double>::quiet_NaN());

/// The cross-entropy of scores and target classes as a LossSum: counts the targets that are not
/// ignored; a target is correct if its class has the greatest score. If the loss is NaN, `correct`
/// is NaN too. `options.reduction` is not read.
///
/// **Shapes**: as cross_entropy. **Errors**: as cross_entropy; a defined `options.weight`.
LossSum summed_cross_entropy(const Tensor& scores, const Tensor& targets,
                             CrossEntropyOptions options = {});

/// The squared error of predictions and target values as a LossSum: counts the elements, but
/// no correct ones. **Shapes**, **Errors**: as mse_loss.
LossSum summed_squared_error(const Tensor& x, const Tensor& targets);

/// info_nce_loss as a LossSum: counts the queries; a query is correct if its own key matches the
/// query best (of equally good keys, the first is the best). All other keys of the batch are
/// negatives, so a trainer must compute a batch in one shard. With `symmetric` too, `count` and
/// `correct` count only queries. `options.reduction` is not read.
///
/// **Shapes**, **Errors**: as info_nce_loss.
/// **Source**: sentence-transformers' MultipleNegativesRankingLoss, with temperature 1 / scale.
LossSum summed_info_nce(const Tensor& queries, const Tensor& keys, InfoNceOptions options = {});

/// Sums of losses as numbers, of a batch, an epoch or an evaluation.
struct LossTotals {
  double loss = 0;
  double count = 0;
  double correct = 0;

  /// The mean loss of a target; NaN without targets.
  double mean() const { return loss / count; }
  /// The fraction of correct targets; NaN without targets, or if the loss function does
  /// not count correct predictions.
  double accuracy() const { return correct / count; }
  /// Adds the three numbers of `other`.
  void add(const LossTotals& other);
};

/// The numbers of a LossSum; zeros if there are no targets. **Errors**: a count that is missing,
/// negative or not finite; with targets, a loss that is not one number, and a `correct` that is
/// negative or above `count`.
LossTotals totals_of(const LossSum& sum);

}  // namespace tessera::nn
