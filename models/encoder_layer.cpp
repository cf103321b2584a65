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
  const DropoutDetails& p = options.dropouts;
  const auto check = [](const char* what, const std::optional<double>& probability) {
    if (probability) nn::detail::require_probability(kOp, what, *probability);
  };
  check("dropouts.attention_weights", p.attention_weights);
  check("dropouts.attention_output", p.attention_output);
  check("dropouts.feed_forward", p.feed_forward);
  check("dropouts.feed_forward_output", p.feed_forward_output);
  return options;
}

NormPlacement placement_of(const EncoderLayerOptions& options) {
  return options.norm.placement.value_or(options.norm_first ? NormPlacement::kPre
                                                            : NormPlacement::kPost);
}

nn::MultiHeadAttentionOptions attention_of(const EncoderLayerOptions& options) {
  return {.embed_dim = options.d_model,
          .num_heads = options.nhead,
          .dropout = options.dropouts.attention_weights.value_or(options.dropout),
          .bias = options.attention.bias.value_or(options.bias),
          .batch_first = options.batch_first,
          .scale = options.attention.scale};
}

nn::FeedForwardOptions feed_forward_of(const EncoderLayerOptions& options) {
  return {.d_model = options.d_model,
          .dim_feedforward = options.dim_feedforward,
          .activation = options.activation,
          .dropout = options.dropouts.feed_forward.value_or(options.dropout),
          .bias = options.feed_forward.bias.value_or(options.bias)};
}

}  // namespace

nn::LayerNorm make_norm(const EncoderLayerOptions& options) {
  return nn::LayerNorm({.normalized_shape = {options.d_model},
                        .eps = options.layer_norm_eps,
                        .bias = options.norm.bias.value_or(options.bias)});
}

EncoderLayer::EncoderLayer(const EncoderLayerOptions& options, Rng& rng)
    : self_attn(attention_of(checked(options)), rng),
      feed_forward(feed_forward_of(options), rng),
      norm2(make_norm(options)),
      dropout1(options.dropouts.attention_output.value_or(options.dropout)),
      dropout2(options.dropouts.feed_forward_output.value_or(options.dropout)),
      placement(placement_of(options)),
      gradient_checkpoint(options.gradient_checkpoint) {
  if (placement != NormPlacement::kPreFeedForward) norm1.emplace(make_norm(options));
}

Tensor EncoderLayer::operator()(const Tensor& x, const AttentionMask& mask) const {
  if (gradient_checkpoint && active_recorder != nullptr) return compute_checkpointed(x, mask);
  return compute(x, mask, {}).output;
}

AttentionResult EncoderLayer::with_weights(const Tensor& x, const AttentionMask& mask,
                                           const AttentionRequest& request) const {
  return compute(x, mask, request);
}

Tensor EncoderLayer::compute_checkpointed(const Tensor& x, const AttentionMask& mask) const {
  std::vector<Tensor> inputs = mask.tensors();
  const std::size_t of_mask = inputs.size();
  inputs.insert(inputs.begin(), x);
  nn::for_each_parameter(
      *this, [&](const std::string&, const Tensor& parameter) { inputs.push_back(parameter); });
  // A copy of the layer, of handles that is, so that the original may change or go.
  return tessera::gradient_checkpoint(
      [layer = *this, mask, of_mask](std::span<const Tensor> in) {
        const AttentionMask same = mask.with_tensors(in.subspan(1, of_mask));
        return layer.compute(in[0], same, {}).output;
      },
      inputs);
}

AttentionResult EncoderLayer::compute(const Tensor& x, const AttentionMask& mask,
                                      const std::optional<AttentionRequest>& request) const {
  const bool post = placement == NormPlacement::kPost;
  // Without dropout between a branch and its sum, the branch's last product adds the residual
  // itself.
  const AttentionResult attended = self_attn({.query = norm1 && !post ? (*norm1)(x) : x,
                                              .mask = mask,
                                              .weights = request,
                                              .residual = dropout1.active() ? Tensor() : x});
  Tensor y = dropout1.active() ? dropout1(attended.output, x) : attended.output;
  if (post) y = (*norm1)(y);

  const Tensor input = post ? y : norm2(y);
  y = dropout2.active() ? dropout2(feed_forward(input), y) : feed_forward(input, y);
  if (post) y = norm2(y);
  return {y, attended.weights};
}

}  // namespace tessera::models
