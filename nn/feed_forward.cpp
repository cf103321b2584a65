#include "nn/feed_forward.h"

namespace tessera::nn {

FeedForward::FeedForward(const FeedForwardOptions& options, Rng& rng)
    : linear1({.in_features = options.d_model,
               .out_features = options.dim_feedforward,
               .bias = options.bias},
              rng),
      dropout(options.dropout),
      linear2({.in_features = options.dim_feedforward,
               .out_features = options.d_model,
               .bias = options.bias},
              rng),
      activation(options.activation) {}

Tensor FeedForward::operator()(const Tensor& x, const Tensor& residual) const {
  return linear2(dropout(linear1(x, activation)), Activation::kNone, residual);
}

}  // namespace tessera::nn
