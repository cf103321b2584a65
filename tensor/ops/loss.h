// Losses: the distance of predictions from their targets.
//
//   Tape tape;
//   Tensor loss = cross_entropy(model(ids), labels);   // (B, T, C) and (B, T)
//   tape.backward(loss);
//
// Cross-entropy and the losses of single elements are one pass over the predictions, which also
// computes the gradient if one is required; the others are made of ops. Losses are summed by the
// fixed tree of `sum`, so the number of threads does not change the bits. nn/loss.h has the same
// names in nn.
#pragma once

#include "tensor/tensor.h"

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
  index_t ignore_index = -100;  // rows with this target are ignored
  double label_smoothing = 0;   // this share of each target is spread over all classes
  Reduction reduction = Reduction::kMean;
};

/// The cross-entropy of softmax(x) and target classes. With weights w and smoothing s, for a row of
/// C scores with target y:
///
///     loss = (1 - s) w_y (-log p_y) + s / C sum_c w_c (-log p_c),    p = softmax(x)
///
/// The mean is the sum of losses over the sum of w_y of the rows that are not ignored. If all rows
/// are ignored, the mean is NaN and the gradients are 0; if you want 0 then, use kSum and divide by
/// max(1, count).
///
/// **Shapes**: x (..., C) floating, targets (...) int64 -> () or, with kNone, (...). The classes
/// are the last axis, as in all of this library; PyTorch, where the classes are the second axis,
/// expects logits.transpose(1, 2) for (B, T, C).
/// **Errors**: shapes or dtypes that do not match; a target that is not a class; a weight of a
/// different shape or dtype, or that requires a gradient; smoothing outside [0, 1].
/// **Source**: torch.nn.functional.cross_entropy; Szegedy et al., "Rethinking the Inception
/// architecture", 2016, section 7.
Tensor cross_entropy(const Tensor& x, const Tensor& targets,
                     const CrossEntropyOptions& options = {});

/// The options of nll_loss().
struct NllOptions {
  Tensor weight = {};           // (C), of the classes; undefined: 1
  index_t ignore_index = -100;  // rows with this target are ignored
  Reduction reduction = Reduction::kMean;
};

/// The negative log-likelihood of target classes: -w_y x_y for a row x of log-probabilities with
/// target y. For x = log_softmax(scores) the result is the cross_entropy of the scores.
///
/// The mean is the sum of losses over the sum of w_y of the rows that are not ignored. If all rows
/// are ignored, the mean is NaN and the gradients are 0.
///
/// **Shapes**: x (..., C) floating, targets (...) int64 -> () or, with kNone, (...).
/// **Errors**: shapes or dtypes that do not match; a target that is not a class; a weight of a
/// different shape or dtype, or that requires a gradient.
/// **Source**: torch.nn.functional.nll_loss.
Tensor nll_loss(const Tensor& x, const Tensor& targets, const NllOptions& options = {});

/// As Reduction, and kBatchMean, the mean divergence of a batch's rows.
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

/// The Kullback-Leibler divergence of log-probabilities x from a target distribution t:
///
///     loss = t (log t - x), or with log_target exp(t) (t - x); 0 if the probability is 0
///
/// The prediction is the first argument: KL(target || prediction).
///
/// **Shapes**: x (...) floating, target the same -> () or, with kNone, (...). A target of a
/// different dtype is converted. Both may require a gradient; the target's gradient is 0 if its
/// probability is 0.
/// **Errors**: shapes that differ; kBatchMean for a scalar.
/// **Source**: torch.nn.functional.kl_div.
Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options = {});

/// The options of bce_with_logits().
struct BceOptions {
  Tensor weight = {};      // of the losses
  Tensor pos_weight = {};  // p, of the positive targets
  Reduction reduction = Reduction::kMean;
};

/// The binary cross-entropy of sigmoid(x) and targets t in [0, 1]:
///
///     loss = -w (p t log sigmoid(x) + (1 - t) log(1 - sigmoid(x)))
///
/// computed from exp(-|x|), so that it is accurate for x far from 0. The mean divides by the number
/// of elements, for any w.
///
/// **Shapes**: x (...) floating, target the same -> () or, with kNone, (...); weight and pos_weight
/// broadcast to it. A target of a different dtype is converted.
/// **Errors**: shapes that do not match; a target or weight that requires a gradient.
/// **Source**: torch.nn.functional.binary_cross_entropy_with_logits.
Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceOptions& options = {});

/// The squared error (x - target)^2.
///
/// **Shapes**: x (...) floating, target the same -> () or, with kNone, (...). Both may require a
/// gradient. **Errors**: shapes that differ. **Source**: torch.nn.functional.mse_loss.
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean);

/// The options of smooth_l1_loss().
struct SmoothL1Options {
  double beta = 1;  // the end of the parabola; 0: absolute error
  Reduction reduction = Reduction::kMean;
};

/// The error squared near 0 and absolute beyond, with d = x - target:
///
///     loss = d^2 / (2 beta) if |d| < beta, else |d| - beta / 2
///
/// **Shapes**: as mse_loss. **Errors**: shapes that differ; a beta that is negative or not finite.
/// **Source**: torch.nn.functional.smooth_l1_loss; Girshick, "Fast R-CNN", 2015, equation 3.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1Options& options = {});

namespace detail {

/// The reduced `losses`; the mean is over `count`. **Errors**: an unknown reduction.
Tensor reduced(const char* op, const Tensor& losses, Reduction reduction, double count);

}  // namespace detail

}  // namespace tessera
