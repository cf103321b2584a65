// Losses: the distance of predictions from their targets.
//
//   Tape tape;
//   Tensor loss = nn::cross_entropy(model(ids), labels);   // (B, T, C) and (B, T)
//   tape.backward(loss);
//
// Losses of scores are the ops of tensor/ops/loss.h. Losses of vectors move matching vectors nearer
// to each other, and other vectors apart:
//
//   Tensor loss = nn::info_nce_loss(encode(questions), encode(answers));   // (B, D) and (B, D)
#pragma once

#include "tessera/tensor/ops/loss.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

using tessera::bce_with_logits;
using tessera::BceOptions;
using tessera::cross_entropy;
using tessera::CrossEntropyOptions;
using tessera::kl_div;
using tessera::KlDivOptions;
using tessera::KlReduction;
using tessera::mse_loss;
using tessera::nll_loss;
using tessera::NllOptions;
using tessera::Reduction;
using tessera::smooth_l1_loss;
using tessera::SmoothL1Options;

/// The options of triplet_margin_loss().
struct TripletOptions {
  double margin = 1;
  double eps = 1e-6;  // added to each difference, so that equal vectors have a gradient
  bool swap = false;  // measure the negative from the nearer of anchor and positive
  Reduction reduction = Reduction::kMean;
};

/// The distance from the anchor to the negative should be greater than the distance from the anchor
/// to the positive by at least `margin`. The loss is the missing distance:
///
///     loss = max(d(anchor, positive) - d(anchor, negative) + margin, 0),
///     d(a, b) = |a - b + eps|
///
/// where |...| is the Euclidean norm along the last axis. In float32 this norm overflows from
/// about 1.8e19 on.
///
/// **Shapes**: three times (..., D) of one floating dtype -> () or, with kNone, (...).
/// **Errors**: shapes or dtypes that differ; a scalar; a dtype that is not floating; a margin or
/// eps that is negative or not finite; an unknown reduction.
/// **Source**: torch.nn.functional.triplet_margin_loss with p = 2; the swap: Balntas et al.,
/// "Learning local feature descriptors with triplets and shallow convolutional neural networks",
/// 2016, section 3.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options = {});

/// The options of info_nce_loss().
struct InfoNceOptions {
  double temperature = 0.07;
  bool symmetric = false;  // the mean of this loss and the one with queries and keys exchanged
  bool normalize = true;   // divides vectors by their norms, so that dot products are cosines
  Reduction reduction = Reduction::kMean;
};

/// InfoNCE: query i should match key i better than all other keys of the batch. The match of two
/// vectors is their dot product.
///
///     loss_i = -log (exp(q_i k_i / temperature) / sum_j exp(q_i k_j / temperature))
///
/// For i < B, key i is the positive of query i and a negative of the other queries. Keys from B on
/// are negatives of all queries. With `normalize`, a vector with a norm below 1e-12 is divided by
/// 1e-12, not by its norm, and the gradient of this vector may be huge.
///
/// **Shapes**: queries (B, D), keys (N, D), N >= B, of one floating dtype -> () or, with kNone,
/// (B).
/// **Errors**: shapes or dtypes that do not match; a dtype that is not floating; no keys;
/// `symmetric` with N > B; a temperature that is not positive and finite; an unknown reduction.
/// **Source**: van den Oord et al., "Representation learning with contrastive predictive coding",
/// 2018, equation 4; cosines over a temperature: Chen et al., "A simple framework for contrastive
/// learning of visual representations", 2020, equation 1; symmetric, and 0.07: Radford et al.,
/// "Learning transferable visual models from natural language supervision", 2021, figure 3.
Tensor info_nce_loss(const Tensor& queries, const Tensor& keys, const InfoNceOptions& options = {});

}  // namespace tessera::nn
