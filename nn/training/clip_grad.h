// Gradients cut back to a largest norm, against steps that are too wide.
#pragma once

#include "nn/training/optimizer.h"

namespace tessera::nn {

struct ClipOptions {
  double scale = 1;  // of all gradients, before: 1 / n makes means of sums, in the same pass
  bool error_if_nonfinite = false;
};

/// Multiplies all gradients by `scale`, and by max_norm / (norm + 1e-6) where that is below 1.
/// Returns their norm between the two: the root of the sum of the squares of all their elements,
/// summed in double and in a fixed order.
///
/// Parameters without a gradient are passed over. As in PyTorch, a norm of inf makes gradients 0
/// (those that are inf become NaN) and a norm of NaN makes all of them NaN, unless
/// `error_if_nonfinite`.
/// **Errors**: max_norm is not >= 0; a scale that is negative or not finite; with `error_if_nonfinite`, a norm that is inf or NaN, and then
/// nothing is changed.
/// **Source**: torch.nn.utils.clip_grad_norm_; Pascanu et al., "On the difficulty of training
/// recurrent neural networks" (2013), algorithm 1.
double clip_grad_norm(const Parameters& parameters, double max_norm,
                      const ClipOptions& options = {});
/// The same over all groups of an optimiser. Allocates nothing after the first time.
///
/// If processes share it, all of them call this together. Each reads and scales only the
/// elements of its own chunks; all return the norm of the whole gradient, with the bits that it has in one
/// process. **Errors**: as above, and processes that have gradients of other parameters.
double clip_grad_norm(const Optimizer& optimizer, double max_norm, const ClipOptions& options = {});

}  // namespace tessera::nn
