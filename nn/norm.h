// Layer norm or RMS norm, chosen by an option.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

enum class NormKind {
  kLayerNorm,
  kRmsNorm,  // does not centre, and has no bias
};

struct NormOptions {
  index_t width;
  NormKind kind = NormKind::kLayerNorm;
  double eps = 1e-5;
  bool bias = true;  // of a layer norm
};

/// LayerNorm or RmsNorm over the last axis, with the same parameters.
///
/// **Shapes**: (..., width) -> the same. **Errors**: as theirs; an unknown kind.
struct Norm {
  Tensor weight;
  Tensor bias;  // undefined without bias
  double eps;
  NormKind kind;

  explicit Norm(const NormOptions& options);

  Tensor operator()(const Tensor& x) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }
};

}  // namespace tessera::nn
