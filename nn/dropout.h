// Dropout.
#pragma once

#include "tensor/ops/dropout.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// While training, zeroes each element with probability p, rounded to a multiple of 1/65536, and
/// scales the rest by 1 / (1 - p); otherwise the identity. Each call takes a key for its mask from the
/// calling thread's default_rng().
///
/// **Errors**: a p outside [0, 1]. **Source**: Srivastava et al., 2014; torch.nn.Dropout.
struct Dropout {
  double p;
  bool training = true;

  explicit Dropout(double probability = 0.5);

  /// Whether calling it changes anything.
  bool active() const { return training && p > 0; }
  /// The output, with `residual`, if there is one, added in the same pass.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// The mask of the next call, for an op that has dropout inside. Unless active it drops nothing,
  /// and no key is taken.
  DropoutMask draw() const;

  template <class Self, class Visitor>
  static void visit(Self&, Visitor&&) {}
};

}  // namespace tessera::nn
