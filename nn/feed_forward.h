// The position-wise feed-forward network.
#pragma once

#include "nn/activation.h"
#include "nn/dropout.h"
#include "nn/linear.h"

namespace tessera::nn {

struct FeedForwardOptions {
  index_t d_model;
  index_t dim_feedforward;
  Activation activation = Activation::kRelu;
  double dropout = 0;
  bool bias = true;
};

/// `linear2(dropout(activation(linear1(x))))`, the same at every position.
///
/// **Shapes**: (..., D) -> (..., D), through width F. **Errors**: widths below 1.
/// **Source**: Vaswani et al., 2017, section 3.3; the names are torch.nn.TransformerEncoderLayer's.
struct FeedForward {
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  Activation activation;

  explicit FeedForward(const FeedForwardOptions& options, Rng& rng = default_rng());

  /// The output, with `residual` added to it in passing if there is one.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("linear1", self.linear1);
    visitor("dropout", self.dropout);
    visitor("linear2", self.linear2);
  }
};

}  // namespace tessera::nn
