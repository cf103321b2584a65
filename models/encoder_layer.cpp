#include "tessera/models/encoder_layer.h"

#include <span>
#include <vector>

#include "tessera/models/tokens.h"
#include "tessera/nn/detail/check.h"
#include "tessera/nn/hook.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/autograd/gradient_checkpoint.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"
#include "tessera/tensor/ops/arithmetic.h"

namespace tessera::models {

namespace {

const EncoderLayerOptions& checked(const EncoderLayerOptions& options) {
  constexpr const char* kOp = "EncoderLayer";
  if (!options.head_dim) {
    nn::detail::require_heads(kOp, "nhead", options.nhead, "d_model", options.d_model);
  }
  nn::detail::require_size(kOp, "dim_feedforward", options.dim_feedforward);
  nn::detail::require_probability(kOp, "dropout", options.dropout);
  nn::detail::require_not_negative(kOp, "layer_norm_eps", options.layer_norm_eps);
  require_enum(kOp, "activation", options.activation, nn::Activation::kSilu);
  require_enum(kOp, "norm", options.norm, nn::NormKind::kRMSNorm);
  require(options.norm1 || options.norm_first, kOp,
          "norm1 must be true without norm_first, got false");
  const auto check = [](const char* what, const std::optional<double>& probability) {
    if (probability) nn::detail::require_probability(kOp, what, *probability);
  };
  check("attention_dropout", options.attention_dropout);
  check("feed_forward_dropout", options.feed_forward_dropout);
  check("dropout1", options.dropout1);
  check("dropout2", options.dropout2);
  require(options.batch_first || (!options.attention && !options.feed_forward), kOp,
          "batch_first must be true for custom parts, got false");
  return options;
}

nn::MultiHeadAttentionOptions attention_of(const EncoderLayerOptions& options) {
  return {.embed_dim = options.d_model,
          .num_heads = options.nhead,
          .dropout = options.attention_dropout.value_or(options.dropout),
          .bias = options.bias && options.attention_bias,
          .batch_first = options.batch_first,
          .scale = options.scale,
          .rotary = options.rotary,
          .num_key_value_heads = options.num_key_value_heads,
          .head_dim = options.head_dim,
          .head_norm_eps = options.head_norm_eps,
          .disentangled = options.disentangled};
}

nn::FeedForwardOptions feed_forward_of(const EncoderLayerOptions& options) {
  return {.d_model = options.d_model,
          .dim_feedforward = options.dim_feedforward,
          .activation = options.activation,
          .dropout = options.feed_forward_dropout.value_or(options.dropout),
          .linear1_bias = options.bias && options.linear1_bias,
          .linear2_bias = options.bias && options.linear2_bias,
          .gated = options.gated};
}

/// Throws unless the output of a custom part has the shape and dtype of its input: a residual of a
/// different shape would be broadcast.
void check_custom(const char* part, const Tensor& y, const Tensor& x) {
  require(y.defined(), "EncoderLayer", part, " must return a tensor, got an undefined one");
  require(y.shape() == x.shape() && y.dtype() == x.dtype(), "EncoderLayer", part, " must return ",
          x.dtype(), ' ', x.shape(), ", got ", y.dtype(), ' ', y.shape());
}

}  // namespace

nn::NormOptions norm_options(const EncoderLayerOptions& options) {
  return {.width = options.d_model,
          .kind = options.norm,
          .eps = options.layer_norm_eps,
          .bias = options.bias && options.norm_bias};
}

Tensor EncoderInputs::real_tokens() const {
  require(x.rank() == 3, "real_tokens", "x must have shape (B, T, D), got ", x.shape());
  const bool only_lengths =
      !mask.keep().defined() && !mask.bias().defined() && !mask.causal() && !mask.window();
  require(
      only_lengths, "real_tokens",
      "mask must hide only padding, by lengths, got another kind; pass the mask to attention()");
  if (!mask.lengths().defined()) return ones({1, 1, 1, 1}, x.dtype());
  const Tensor real = models::real_tokens(mask.lengths(), x.size(1));
  return real.to(x.dtype()).unsqueeze(1).unsqueeze(3);
}

index_t token_count(const char* op, const EncoderInputs& inputs, bool batch_first) {
  const Tensor& x = inputs.x;
  constexpr const char* kRule = "x must have shape (B, T, D) or (T, D), got ";
  require(x.defined(), op, kRule, "an undefined tensor");
  require(x.rank() >= 2, op, kRule, x.shape());
  if (inputs.unpadded) return inputs.unpadded.padded_length();
  return x.size(batch_first || x.rank() == 2 ? -2 : 0);
}

EncoderLayer::EncoderLayer(const EncoderLayerOptions& options, const nn::ParameterSource& from)
    : norm2(norm_options(checked(options)), from["norm2"]),
      dropout1(options.dropout1.value_or(options.dropout)),
      dropout2(options.dropout2.value_or(options.dropout)),
      window(options.window),
      causal(options.causal),
      norm_first(options.norm_first),
      batch_first(options.batch_first),
      gradient_checkpoint(options.gradient_checkpoint) {
  if (options.attention) {
    custom_attention.emplace(options.attention(options, from["self_attn"]));
  } else {
    self_attn.emplace(attention_of(options), from["self_attn"]);
  }
  if (options.feed_forward) {
    custom_feed_forward.emplace(options.feed_forward(options, from["feed_forward"]));
  } else {
    feed_forward.emplace(feed_forward_of(options), from);
  }
  if (options.norm1) norm1.emplace(norm_options(options), from["norm1"]);
  if (window) window_mask(*window);  // throws now instead of in every call
  if (options.relative_position) {
    relative_position.emplace(nn::RelativePositionOptions{.num_heads = options.nhead,
                                                          .distances = *options.relative_position},
                              from["relative_attention_bias"]);
  }
  if (options.alibi) alibi.emplace(options.nhead);
}

Tensor EncoderLayer::operator()(const EncoderInputs& inputs) const {
  if (gradient_checkpoint && active_recorder != nullptr && !nn::has_active_hook()) {
    return compute_checkpointed(inputs);
  }
  return compute(inputs, {}).output;
}

AttentionResult EncoderLayer::with_attentions(const EncoderInputs& inputs,
                                              const AttentionRequest& request) const {
  return compute(inputs, request);
}

Tensor EncoderLayer::compute_checkpointed(const EncoderInputs& inputs) const {
  std::vector<Tensor> read = inputs.mask.tensors();
  const std::size_t of_mask = read.size();
  read.insert(read.begin(), {inputs.x, inputs.positions, inputs.distance_table});
  nn::detail::list_parts(*this).for_each(
      [&](const std::string&, const Tensor& parameter) { read.push_back(parameter); },
      nn::detail::kSkipPrepacked);
  // A copy of the layer's handles, so that the original may change or be destroyed.
  return tessera::gradient_checkpoint(
      [layer = *this, mask = inputs.mask, unpadded = inputs.unpadded,
       of_mask](std::span<const Tensor> in) {
        const EncoderInputs same = {in[0], mask.with_tensors(in.subspan(3, of_mask)), in[1],
                                    unpadded, in[2]};
        const nn::PausedHooks paused;  // backward repeats the forward pass without hooks
        return layer.compute(same, {}).output;
      },
      read);
}

/// The mask with the layer's own additions.
AttentionMask EncoderLayer::mask_of(const EncoderInputs& inputs) const {
  AttentionMask mask = inputs.mask;
  if (window) mask = mask & window_mask(*window);
  if (causal) mask = mask & causal_mask();
  if (!relative_position && !alibi) return mask;
  const index_t tokens = token_count("EncoderLayer", inputs, batch_first);
  if (relative_position) mask = mask & additive_mask((*relative_position)(tokens, tokens));
  if (alibi) mask = mask & additive_mask((*alibi)(tokens, tokens));
  return mask;
}

/// Self-attention of `query`, with `residual`, if defined, added in the same pass. A custom part
/// adds no residual: `compute` does.
AttentionResult EncoderLayer::attend(const Tensor& query, const Tensor& residual,
                                     const EncoderInputs& inputs,
                                     const std::optional<AttentionRequest>& request) const {
  const ModulePath path("self_attn");
  if (!custom_attention) {
    return self_attn.value()({.query = query,
                              .mask = mask_of(inputs),
                              .need_weights = request,
                              .residual = residual,
                              .positions = inputs.positions,
                              .unpadded = inputs.unpadded,
                              .distance_table = inputs.distance_table});
  }
  const AttentionResult result =
      (*custom_attention)({.x = query, .mask = mask_of(inputs), .positions = inputs.positions});
  check_custom("attention", result.output, query);
  if (!request) return {result.output};
  require(result.weights.defined(), "EncoderLayer",
          "attention must return weights if weights are requested, got none; return an "
          "AttentionResult");
  const Shape& shape = result.weights.shape();
  const index_t tokens = query.size(1);
  require(shape.size() == 4 && shape == Shape{query.size(0), shape[1], tokens, tokens},
          "EncoderLayer", "weights of attention must have shape (B, H, T, T), got ", shape);
  return {result.output, requested_weights(result.weights, *request)};
}

/// The feed-forward network of x, with `residual` as above.
Tensor EncoderLayer::feed(const Tensor& x, const Tensor& residual) const {
  const ModulePath path("feed_forward");
  if (!custom_feed_forward) return feed_forward.value()(x, residual);
  const Tensor y = (*custom_feed_forward)(x);
  check_custom("feed_forward", y, x);
  return y;
}

AttentionResult EncoderLayer::compute(const EncoderInputs& inputs,
                                      const std::optional<AttentionRequest>& request) const {
  using nn::hooked;
  const Tensor& x = inputs.x;
  // The last product of a branch adds the residual itself, unless dropout or a hook comes between,
  // or the branch is custom.
  const bool separate1 = custom_attention || dropout1.active() || nn::has_active_hook();
  const bool separate2 = custom_feed_forward || dropout2.active() || nn::has_active_hook();
  if (has_custom_part()) {
    require(!inputs.unpadded, "EncoderLayer",
            "x must be a padded batch (B, T, D) for custom parts, got unpadded rows");
    require(x.rank() == 3, "EncoderLayer",
            "x must be a padded batch (B, T, D) for custom parts, got ", x.shape());
  }

  const AttentionResult attended = attend(norm1 && norm_first ? hooked("norm1", (*norm1)(x)) : x,
                                          separate1 ? Tensor() : x, inputs, request);
  Tensor y = attended.output;
  if (separate1) y = hooked("sum1", dropout1(hooked("self_attn", y), x));
  if (!norm_first) y = hooked("norm1", (*norm1)(y));

  const Tensor input = norm_first ? hooked("norm2", norm2(y)) : y;
  y = separate2 ? hooked("sum2", dropout2(hooked("feed_forward", feed(input, {})), y))
                : feed(input, y);
  if (!norm_first) y = hooked("norm2", norm2(y));
  return {hooked("", y), attended.weights};
}

}  // namespace tessera::models
