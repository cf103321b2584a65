// Gradient clipping by norm, against steps that are too large.
#pragma once

#include "tessera/nn/training/parameters.h"

namespace tessera::nn {

/// The options of clip_grad_norm().
struct ClipOptions {
  double scale = 1;  // multiplies all gradients first: 1 / n turns sums into means, in the same
                     // pass
  bool error_if_nonfinite = false;
};

/// Multiplies all gradients by `scale`, and then by max_norm / (norm + 1e-6) if this factor is
/// below 1. Returns the norm after `scale` and before the second factor: the root of the sum of the
/// squares of all elements, summed in double and in a fixed order. Allocates no memory after the
/// first call.
///
/// Parameters without a gradient are skipped. Without `error_if_nonfinite`, as in PyTorch, a norm
/// of inf makes finite elements 0 and infinite elements NaN if max_norm is finite. If the norm is
/// NaN, or if the norm and max_norm are both inf, all elements become NaN.
/// **Errors**: max_norm is not >= 0; a scale that is negative or not finite; a gradient that is not
/// contiguous; with `error_if_nonfinite`, a norm that is inf or NaN. After an error nothing is
/// changed.
/// **Source**: torch.nn.utils.clip_grad_norm_; Pascanu et al., "On the difficulty of training
/// recurrent neural networks", 2013, algorithm 1.
double clip_grad_norm(const Parameters& parameters, double max_norm,
                      const ClipOptions& options = {});

}  // namespace tessera::nn
