// The contribution of tokens to a score: attributions by gradients.
//
//   const auto score = [&] { return model(tokens).select(0, 0).select(0, 2); };   // a logit
//   const inspect::Attribution why = inspect::integrated_gradients(score);
//   why.rows;          // (1, T): what each token adds to the logit
//   why.error;         // the sum of the rows minus the change of the logit
#pragma once

#include <string>

#include "tessera/models/inspect/record.h"

namespace tessera::inspect {

/// Gradient times input: `sum_k x[t, k] * g[t, k]`, where g is the gradient of the score at x.
///
/// x is the hook point of that name, which `score` must compute exactly once. The function adds to
/// the gradients of parameters that require gradients. **Shapes**: a hook point of (B, T, D) -> (B,
/// T), 0 at padding.
/// **Errors**: a hook point that is not computed, or more than once; a score that does not depend
/// on the hook point, is not finite, or has several elements; prepacked weights; exceptions of the
/// score.
/// **Source**: Simonyan et al., "Deep Inside Convolutional Networks", 2014; times the input:
/// Shrikumar et al., "Not Just a Black Box", 2016.
Tensor input_x_gradient(const Score& score, const std::string& hook_point = "embeddings.words");

/// The options of integrated_gradients().
struct IntegratedGradientsOptions {
  std::string hook_point = "embeddings.words";
  Tensor baseline = {};  // broadcastable to the hook point, or padded as by record(); absent: zeros
  index_t points = 64;   // the number of points at which the gradient is computed
};

/// The result of integrated_gradients().
struct Attribution {
  Tensor rows;          // what each token adds to the score
  double score = 0;     // at the input
  double baseline = 0;  // at the baseline
  double error = 0;     // (sum of `rows`) - (score - baseline)
};

/// `sum_k (x - b)[t, k] * integral of g[t, k] over a from 0 to 1`, where b is the baseline, and g
/// is the gradient of the score at b + a (x - b). Trapezoids approximate the integral: at first 8
/// of equal width. Then each new point halves the trapezoid with the largest error, because scores
/// change abruptly somewhere between b and x. The error of a trapezoid is known from the scores at
/// its ends. The error of the sum falls as 1 / points^2.
///
/// If the model begins with a layer norm of the word vectors, their norms have almost no effect.
/// With a baseline of zeros, the score then changes only very near the zeros. Use a
/// different baseline: the recorded hook point of the same text with [MASK] in place of each token.
///
/// Prepacked weights must be unpacked. The rows add up to score - baseline + error. Like
/// input_x_gradient, the function adds to the gradients of parameters that require gradients.
/// **Shapes**, **Errors**: as input_x_gradient; fewer points than 2; a baseline that does not
/// broadcast.
/// **Source**: Sundararajan et al., "Axiomatic Attribution for Deep Networks", 2017.
Attribution integrated_gradients(const Score& score,
                                 const IntegratedGradientsOptions& options = {});

}  // namespace tessera::inspect
