// Losses: the distance of predictions from their targets.
//
//   Tape tape;
//   Tensor loss = cross_entropy(model(ids), labels);   // (B, T, C) and (B, T)
//   tape.backward(loss);
//
// cross_entropy, bce_with_logits, mse_loss and smooth_l1_loss read the predictions in one pass,
// which also computes the gradient if one is required; nll_loss and kl_div are made of other ops.
// Losses are summed by the fixed tree of `sum`, so the number of threads does not change the bits.
// nn/loss.h declares the same names in the namespace nn.
//
// **Errors** of all losses: an undefined x or target; an x that is not floating; a reduction that
// is not one of its enum's values.
#pragma once

#include "tessera/tensor/tensor.h"

namespace tessera {

/// The reduction of the losses of a batch.
enum class Reduction {
  kMean,  // a scalar
  kSum,   // a scalar
  kNone,  // one loss per target
};

/// The options of cross_entropy().
struct CrossEntropyOptions {
  Tensor weight = {};           // (C), of the classes; undefined: 1
  index_t ignore_index = -100;  // rows with this target have loss 0 and do not count in the mean
  double label_smoothing = 0;   // this fraction of each target is spread over all classes
  Reduction reduction = Reduction::kMean;
};

/// The cross-entropy of softmax(x) and target classes. w are the weights of the C classes, s is the
/// label smoothing. The loss of a row of C scores with target class y is:
///
///     loss = (1 - s) w_y (-log p_y) + (s / C) sum_c w_c (-log p_c),    p = softmax(x)
///
/// The mean is the sum of the losses divided by the sum of w_y of the rows that are not ignored. If
/// all rows are ignored, the mean is NaN and the gradients are 0. To get 0 in this case, use kSum,
/// and divide by the sum of w_y only if it is not 0.
///
/// **Shapes**: x (..., C) floating, targets (...) int64 -> () or, with kNone, (...). The classes
/// are the last axis. In PyTorch the classes are the second axis, so PyTorch expects
/// logits.transpose(1, 2) for (B, T, C).
/// **Errors**: shapes or dtypes that do not match; no classes; a target that is not a class; a
/// weight of a different shape or dtype, or that requires a gradient while a tape records;
/// smoothing outside [0, 1].
/// **Source**: torch.nn.functional.cross_entropy; Szegedy et al., "Rethinking the Inception
/// architecture", 2016, section 7.
Tensor cross_entropy(const Tensor& x, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

/// The options of nll_loss().
struct NllOptions {
  Tensor weight = {};           // (C), of the classes; undefined: 1
  index_t ignore_index = -100;  // rows with this target have loss 0 and do not count in the mean
  Reduction reduction = Reduction::kMean;
};

/// The negative log-likelihood of target classes: -w_y x_y for a row x of log-probabilities with
/// target class y, where w are the weights of the classes. For x = log_softmax(scores) the result
/// is the cross_entropy of the scores.
///
/// The mean is the sum of the losses divided by the sum of w_y of the rows that are not ignored. If
/// all rows are ignored, the mean is NaN and the gradients are 0.
///
/// **Shapes**: x (..., C) floating, targets (...) int64 -> () or, with kNone, (...).
/// **Errors**: shapes or dtypes that do not match; no classes; a target that is not a class; a
/// weight of a different shape or dtype, or that requires a gradient while a tape records.
/// **Source**: torch.nn.functional.nll_loss.
Tensor nll_loss(const Tensor& x, const Tensor& targets, const NllOptions& options = {});

/// As Reduction, with one more: kBatchMean, the mean over a batch.
enum class KlReduction {
  kMean,       // the sum divided by the number of elements, as PyTorch's default
  kBatchMean,  // the sum divided by the size of the first axis
  kSum,
  kNone,
};

/// The options of kl_div().
struct KlDivOptions {
  bool log_target = false;  // whether the target holds log-probabilities too
  KlReduction reduction = KlReduction::kMean;
};

/// The Kullback-Leibler divergence of a prediction from a target. The prediction x holds
/// log-probabilities. The target t holds probabilities, or log-probabilities if `log_target` is
/// set.
///
///     loss = t (log t - x), or with log_target exp(t) (t - x); 0 if the target probability is 0
///
/// The prediction is the first argument: KL(target || prediction).
///
/// **Shapes**: x (...) floating, target the same -> () or, with kNone, (...). A target of a
/// different dtype is converted. x and the target may require a gradient. The gradient of a target
/// is 0 if its probability is 0.
/// **Errors**: shapes that differ; kBatchMean for a scalar.
/// **Source**: torch.nn.functional.kl_div.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

/// The options of bce_with_logits().
struct BceOptions {
  Tensor weight = {};      // w: a factor of each loss; undefined: 1
  Tensor pos_weight = {};  // p: a factor of the term of positive targets; undefined: 1
  Reduction reduction = Reduction::kMean;
};

/// The binary cross-entropy of sigmoid(x) and targets t in [0, 1], with w and p of BceOptions:
///
///     loss = -w (p t log sigmoid(x) + (1 - t) log(1 - sigmoid(x)))
///
/// The loss is computed from exp(-|x|), so it is accurate also for x far from 0. The mean is the
/// sum divided by the number of elements, not by the sum of w.
///
/// **Shapes**: x (...) floating, target the same -> () or, with kNone, (...); weight and pos_weight
/// broadcast to the shape of x. A target of a different dtype is converted.
/// **Errors**: shapes that do not match; a target, weight or pos_weight that requires a gradient
/// while a tape records.
/// **Source**: torch.nn.functional.binary_cross_entropy_with_logits.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceOptions& options = {});

/// The squared error (x - target)^2.
///
/// **Shapes**: x (...) floating, target the same -> () or, with kNone, (...). x and the target may
/// require a gradient. **Errors**: shapes that differ. **Source**: torch.nn.functional.mse_loss.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);

/// The options of smooth_l1_loss().
struct SmoothL1Options {
  double beta = 1;  // the loss is quadratic below this error; 0: the absolute error everywhere
  Reduction reduction = Reduction::kMean;
};

/// A loss of the error d = x - target that is quadratic for small errors and linear for large ones:
///
///     loss = d^2 / (2 beta) if |d| < beta, else |d| - beta / 2
///
/// **Shapes**: as mse_loss. **Errors**: shapes that differ; a beta that is negative or not finite.
/// **Source**: torch.nn.functional.smooth_l1_loss; Girshick, "Fast R-CNN", 2015, equation 3.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1Options& options = {});

namespace detail {

/// The reduced `losses`; the mean is their sum divided by `count`. **Errors**: an unknown
/// reduction.
Tensor reduced(const char* op, const Tensor& losses, Reduction reduction, double count);

}  // namespace detail

}  // namespace tessera
