#include "models/encoder_layer.h"

#include <span>
#include <vector>

#include "nn/check.h"
#include "nn/module.h"
#include "tensor/autograd/gradient_checkpoint.h"
#include "tensor/gradient.h"
#include "tensor/ops/arithmetic.h"

namespace tessera::models {

namespace {

const EncoderLayerOptions& checked(const EncoderLayerOptions& options) {
  constexpr const char* kOp = "EncoderLayer";
  nn::detail::require_heads(kOp, "nhead", options.nhead, "d_model", options.d_model);
  nn::detail::require_size(kOp, "dim_feedforward", options.dim_feedforward);
  nn::detail::require_probability(kOp, "dropout", options.dropout);
  nn::detail::require_eps(kOp, "layer_norm_eps", options.layer_norm_eps);
  return options;
}

nn::LayerNorm make_norm(const EncoderLayerOptions& options) {
  return nn::LayerNorm(
      {.normalized_shape = {options.d_model}, .eps = options.layer_norm_eps, .bias = options.bias});
}

/// `mask` with another additive part in the place of its own.
AttentionMask with_bias(const AttentionMask& mask, const Tensor& bias) {
  AttentionMask result = mask.causal() ? causal_mask() : AttentionMask();
  if (mask.lengths().defined()) result = result & length_mask(mask.lengths());
  if (mask.keep().defined()) result = result & keep_mask(mask.keep());
  return bias.defined() ? result & additive_mask(bias) : result;
}

}  // namespace

EncoderLayer::EncoderLayer(const EncoderLayerOptions& options, Rng& rng)
    : self_attn({.embed_dim = checked(options).d_model,
                 .num_heads = options.nhead,
                 .dropout = options.dropout,
                 .bias = options.bias,
                 .batch_first = options.batch_first},
                rng),
      feed_forward({.d_model = options.d_model,
                    .dim_feedforward = options.dim_feedforward,
                    .activation = options.activation,
                    .dropout = options.dropout,
                    .bias = options.bias},
                   rng),
      norm1(make_norm(options)),
      norm2(make_norm(options)),
      dropout1(options.dropout),
      dropout2(options.dropout),
      norm_first(options.norm_first),
      gradient_checkpoint(options.gradient_checkpoint) {}

Tensor EncoderLayer::operator()(const Tensor& x, const AttentionMask& mask) const {
  if (gradient_checkpoint && active_recorder != nullptr) return compute_checkpointed(x, mask);
  return compute(x, mask, {}).output;
}

AttentionResult EncoderLayer::with_weights(const Tensor& x, const AttentionMask& mask,
                                           const AttentionRequest& request) const {
  return compute(x, mask, request);
}

Tensor EncoderLayer::compute_checkpointed(const Tensor& x, const AttentionMask& mask) const {
  std::vector<Tensor> inputs = {x, mask.bias(), mask.lengths(), mask.keep()};
  nn::for_each_parameter(
      *this, [&](const std::string&, const Tensor& parameter) { inputs.push_back(parameter); });
  // A copy of the layer, of handles that is, so that the original may change or go.
  return tessera::gradient_checkpoint(
      [layer = *this, mask](std::span<const Tensor> in) {
        return layer.compute(in[0], with_bias(mask, in[1]), {}).output;
      },
      inputs);
}

AttentionResult EncoderLayer::compute(const Tensor& x, const AttentionMask& mask,
                                      const std::optional<AttentionRequest>& request) const {
  // Without dropout between a branch and its sum, the branch's last product adds the residual
  // itself.
  const AttentionResult attended = self_attn({.query = norm_first ? norm1(x) : x,
                                              .mask = mask,
                                              .weights = request,
                                              .residual = dropout1.active() ? Tensor() : x});
  Tensor y = dropout1.active() ? x + dropout1(attended.output) : attended.output;
  if (!norm_first) y = norm1(y);

  const Tensor input = norm_first ? norm2(y) : y;
  y = dropout2.active() ? y + dropout2(feed_forward(input)) : feed_forward(input, y);
  if (!norm_first) y = norm2(y);
  return {y, attended.weights};
}

}  // namespace tessera::models
