// The position-wise feed-forward network.
#pragma once

#include "tessera/nn/dropout.h"
#include "tessera/nn/linear.h"

namespace tessera::nn {

/// The options of FeedForward.
struct FeedForwardOptions {
  index_t d_model;
  index_t dim_feedforward;
  Activation activation = Activation::kRelu;
  double dropout = 0;
  bool linear1_bias = true;
  bool linear2_bias = true;
  bool gated = false;
};

/// `linear2(dropout(activation(linear1(x))))`, the same at every position. If `gated`, linear1 has
/// twice the width: `linear2(dropout(activation(u) g))` with [u | g] = linear1(x).
///
/// **Shapes**: (..., D) -> (..., D), through width F. If `gated`, linear1.weight is (2F, D), and
/// its first half computes u.
/// **Errors**: widths below 1; a dropout outside [0, 1]; an unknown activation; an input or a
/// residual whose width or dtype does not match.
/// **Source**: Vaswani et al., 2017, section 3.3, with the names of
/// torch.nn.TransformerEncoderLayer; gated: Shazeer, "GLU Variants Improve Transformer", 2020,
/// equation 6.
struct FeedForward {
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  Activation activation;
  bool gated;

  explicit FeedForward(const FeedForwardOptions& options,
                       const ParameterSource& from = default_rng());

  /// The output plus `residual`, if defined, in the same pass.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("linear1", self.linear1);
    visitor("dropout", self.dropout);
    visitor("linear2", self.linear2);
  }
};

}  // namespace tessera::nn
