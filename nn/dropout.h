// Dropout.
#pragma once

#include "tessera/tensor/ops/dropout.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

namespace detail {

/// While an object exists, a call of an active Dropout by the same thread is an error. evaluate()
/// switches off the Dropouts of its model, so such a Dropout is not a part of that model.
class DropoutRefused {
 public:
  DropoutRefused() { ++count(); }
  ~DropoutRefused() { --count(); }
  DropoutRefused(const DropoutRefused&) = delete;
  DropoutRefused& operator=(const DropoutRefused&) = delete;

  /// The number of objects of this thread.
  static int& count();
};

}  // namespace detail

/// In training mode, sets each element to 0 with probability p, and multiplies the other elements
/// by 1 / (1 - p); p is rounded to a multiple of 1/65536. In evaluation mode, changes nothing. If
/// active(), each call draws a key for its mask from the calling thread's default_rng().
///
/// **Errors**: a p outside [0, 1]; an active() module in nn::evaluate(); as dropout(), except that
/// x can be any tensor if the module is not active and there is no residual.
/// **Source**: Srivastava et al., 2014; torch.nn.Dropout.
struct Dropout {
  double p;
  bool training = true;

  explicit Dropout(double probability = 0.5);

  /// Whether a call changes its input.
  bool active() const { return training && p > 0; }
  /// The output plus `residual`, if defined, in the same pass.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// A mask with a new key, for an op with built-in dropout. If dropout is not active, the mask
  /// drops nothing, and no key is drawn. **Errors**: an active() module in nn::evaluate().
  DropoutOptions draw() const;

  static void visit(auto&, auto&&) {}
};

}  // namespace tessera::nn
