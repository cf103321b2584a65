// Dropout.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

/// While training, zeroes each element with probability p and scales the rest by 1 / (1 - p);
/// otherwise the identity. Draws from the calling thread's default_rng().
///
/// **Errors**: a p outside [0, 1]. **Source**: Srivastava et al., 2014; torch.nn.Dropout.
struct Dropout {
  double p;
  bool training = true;

  explicit Dropout(double probability = 0.5);

  /// Whether calling it changes anything.
  bool active() const { return training && p > 0; }
  Tensor operator()(const Tensor& x) const;

  template <class Self, class Visitor>
  static void visit(Self&, Visitor&&) {}
};

}  // namespace tessera::nn
