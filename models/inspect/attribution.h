// The contribution of tokens to a score: attributions by gradients.
//
//   const auto score = [&] { return model(tokens).select(0, 0).select(0, 2); };   // a logit
//   const inspect::Attribution why = inspect::integrated_gradients(score);
//   why.rows;          // (1, T): what each token adds to the logit
//   why.error;         // the sum of the rows minus the change of the logit
#pragma once

#include <string>

#include "models/inspect/record.h"

namespace tessera::inspect {

/// Gradient times input, summed over the columns: `sum_d x[t, d] d score / d x[t, d]`.
///
/// x is the step called `step`, which `score` must compute exactly once. Adds to the gradients of
/// parameters that require one. **Shapes**: a step of (B, T, D) -> (B, T), 0 at padding.
/// **Errors**: a step that is not computed, or more than once; a score that does not depend on the
/// step, is not finite, or has several elements.
/// **Source**: Simonyan et al., "Deep Inside Convolutional Networks", 2014; times the input:
/// Shrikumar et al., "Not Just a Black Box", 2016.
Tensor saliency(const Score& score, const std::string& step = "embeddings.words");

/// The options of integrated_gradients().
struct IntegratedGradientsOptions {
  std::string step = "embeddings.words";
  Tensor baseline = {};  // broadcastable to the step, or from `record`; absent: zeros
  index_t points = 64;   // at which the gradient is computed
};

/// The result of integrated_gradients().
struct Attribution {
  Tensor rows;          // what each token adds to the score
  double score = 0;     // at the input
  double baseline = 0;  // at the baseline
  double error = 0;     // sum of `rows` - (score - baseline)
};

/// `(x - b) * integral from 0 to 1 of d score / d x at b + a (x - b) da`, summed over the columns,
/// by trapezoids. The error of each trapezoid is known from the scores at its ends; the next point
/// halves the trapezoid with the largest error, because models change abruptly somewhere between b
/// and x. The error of the sum falls as 1 / points^2.
///
/// If a model normalises the words first, the scale of the words changes the score only near 0: use
/// the words of a text of masks as the baseline. Frozen weights must be thawed. The rows add up to
/// score - baseline + error. Like saliency, adds to the gradients of parameters that require one.
/// **Shapes**, **Errors**: as saliency; fewer points than 2; a baseline that does not broadcast.
/// **Source**: Sundararajan et al., "Axiomatic Attribution for Deep Networks", 2017.
Attribution integrated_gradients(const Score& score,
                                 const IntegratedGradientsOptions& options = {});

}  // namespace tessera::inspect
