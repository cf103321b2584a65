#include "tessera/nn/feed_forward.h"

#include "tessera/nn/detail/check.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/ops/linear.h"

namespace tessera::nn {

namespace {

const FeedForwardOptions& checked(const FeedForwardOptions& options) {
  detail::require_size("FeedForward", "d_model", options.d_model);
  detail::require_size("FeedForward", "dim_feedforward", options.dim_feedforward);
  detail::require_probability("FeedForward", "dropout", options.dropout);
  require_enum("FeedForward", "activation", options.activation, Activation::kSilu);
  return options;
}

}  // namespace

FeedForward::FeedForward(const FeedForwardOptions& options, const ParameterSource& from)
    : linear1({.in_features = checked(options).d_model,
               .out_features = options.dim_feedforward * (options.gated ? 2 : 1),
               .bias = options.linear1_bias,
               .gated = options.gated},
              from["linear1"]),
      dropout(options.dropout),
      linear2({.in_features = options.dim_feedforward,
               .out_features = options.d_model,
               .bias = options.linear2_bias},
              from["linear2"]),
      activation(options.activation),
      gated(options.gated) {}

Tensor FeedForward::operator()(const Tensor& x, const Tensor& residual) const {
  const Tensor hidden =
      hooked("activation", gated ? gated_linear(x, linear1.weight, linear1.bias, activation)
                                 : linear1(x, activation));
  return linear2(dropout(hidden), Activation::kNone, residual);
}

}  // namespace tessera::nn
