// Dropout.
#pragma once

#include "tensor/ops/dropout.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// In training, zeroes each element with probability p, rounded to a multiple of 1/65536, and
/// scales the others by 1 / (1 - p). In evaluation mode, the identity. Each call draws a key for
/// its mask from the calling thread's default_rng().
///
/// **Errors**: a p outside [0, 1]. **Source**: Srivastava et al., 2014; torch.nn.Dropout.
struct Dropout {
  double p;
  bool training = true;

  explicit Dropout(double probability = 0.5);

  /// Whether a call changes its input.
  bool active() const { return training && p > 0; }
  /// The output plus `residual`, if defined, in the same pass.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// The mask of the next call, for an op with built-in dropout. If dropout is not active, the mask
  /// drops nothing, and no key is drawn.
  DropoutMask draw() const;

  template <class Self, class Visitor>
  static void visit(Self&, Visitor&&) {}
};

}  // namespace tessera::nn
