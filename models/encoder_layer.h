// One layer of a transformer encoder.
#pragma once

#include <functional>
#include <optional>

#include "tessera/nn/any_module.h"
#include "tessera/nn/attention.h"
#include "tessera/nn/feed_forward.h"
#include "tessera/nn/norm.h"
#include "tessera/nn/relative_position.h"

namespace tessera::models {

struct EncoderInputs;
struct EncoderLayerOptions;

/// A custom attention, which replaces self_attn in a layer. The result is the output, which has the
/// shape of x, or an AttentionResult with the output and the weights of all heads, (B, H, T, T),
/// for requests of weights. x contains padding: see EncoderInputs::real_tokens.
using CustomAttention = nn::AnyModule<AttentionResult(const EncoderInputs&)>;
/// A custom network, which replaces linear1 and linear2 in a layer. Its output has the shape of x.
using CustomFeedForward = nn::AnyModule<Tensor(const Tensor&)>;

/// One layer as data: the options of torch.nn.TransformerEncoderLayer, with its defaults except
/// batch_first, followed by those of other encoders.
///
///     EncoderLayerOptions bert = {.d_model = 768, .nhead = 12, .dim_feedforward = 3072,
///                                 .activation = nn::Activation::kGelu, .layer_norm_eps = 1e-12,
///                                 .feed_forward_dropout = 0};
///     EncoderLayerOptions modern = {.d_model = 768, .nhead = 12, .dim_feedforward = 1152,
///                                   .activation = nn::Activation::kGelu, .norm_first = true,
///                                   .bias = false, .gated = true, .window = 64,
///                                   .rotary = {{.base = 10000}}};
struct EncoderLayerOptions {
  index_t d_model;
  index_t nhead;
  index_t dim_feedforward = 2048;
  double dropout = 0.1;
  nn::Activation activation = nn::Activation::kRelu;
  double layer_norm_eps = 1e-5;
  bool batch_first = true;  // (B, T, D) rather than (T, B, D)
  bool norm_first = false;  // norms before attention and feed-forward network, not after the sums
  bool bias = true;         // false: no parameter is a bias
  bool gradient_checkpoint = false;  // saves memory, takes more time: see EncoderLayer

  nn::NormKind norm = nn::NormKind::kLayerNorm;
  bool norm1 = true;   // false, only with norm_first: attention reads x, as in ModernBERT's layer 0
  bool gated = false;  // GeGLU, SwiGLU, ReGLU; dim_feedforward is the width of each half

  std::optional<double> scale = {};    // of the scores; absent: as in nn::MultiHeadAttention
  std::optional<index_t> window = {};  // query i reads key j if |i - j| <= window; absent: all keys
  bool causal = false;                 // query i reads key j if j <= i
  std::optional<nn::RotaryOptions> rotary = {};
  std::optional<nn::DistanceBuckets> relative_position = {};  // a learned bias of only this layer
  bool alibi = false;
  std::optional<nn::DisentangledOptions> disentangled = {};  // reads EncoderInputs::distance_table

  std::optional<index_t> num_key_value_heads = {};  // grouped heads: see nn::MultiHeadAttention
  std::optional<index_t> head_dim = {};             // absent: d_model / nhead
  std::optional<double> head_norm_eps = {};         // if present: RMS norms of queries and keys

  // With `bias`, false: this part has none. RMS norms never have a bias.
  bool attention_bias = true;
  bool linear1_bias = true;
  bool linear2_bias = true;
  bool norm_bias = true;

  // Dropouts that differ from `dropout`.
  std::optional<double> attention_dropout = {};     // of the attention weights
  std::optional<double> feed_forward_dropout = {};  // between linear1 and linear2; BERT: 0
  std::optional<double> dropout1 = {};              // of attention's output
  std::optional<double> dropout2 = {};              // of the feed-forward network's output

  // Custom parts. Each function makes a part from these options and the source of its parameters,
  // whose names begin with "self_attn." or "feed_forward.". The layer does not use the options of
  // a replaced part, but the function may.
  std::function<CustomAttention(const EncoderLayerOptions&, const nn::ParameterSource&)> attention =
      {};
  std::function<CustomFeedForward(const EncoderLayerOptions&, const nn::ParameterSource&)>
      feed_forward = {};
};

/// The options of one norm of the layer: width, kind, epsilon and bias.
nn::NormOptions norm_options(const EncoderLayerOptions& options);

/// The inputs of a layer, or of a stack of layers.
struct EncoderInputs {
  Tensor x;  // (B, T, D)
  AttentionMask mask = {};
  Tensor positions = {};       // for rotary, (B, T) or (T) int64; 0, 1, ... if absent
  UnpaddedRows unpadded = {};  // if it has rows: x (1, N, D), positions (1, N) or absent
  Tensor distance_table = {};  // for disentangled attention, (2 span, D)

  /// 1 for each real token and 0 for padding, for attentions that multiply keys by it:
  /// (B, 1, T, 1) of x's dtype, or (1, 1, 1, 1) if the mask has no lengths. **Errors**: an x
  /// without (B, T, D); a mask that does more than hide padding by lengths, such as a window.
  Tensor real_tokens() const;
};

/// The length T of a sequence, which is the number of queries and the number of keys in attention;
/// for unpadded sequences, T of the padded batch.
/// **Errors**: fewer than two axes.
index_t token_count(const char* op, const EncoderInputs& inputs, bool batch_first);

/// Self-attention and a feed-forward network, each with a residual connection and a norm:
///
///   post-norm:  x = norm1(x + attn(x))        x = norm2(x + ff(x))
///   pre-norm:   x = x + attn(norm1(x))        x = x + ff(norm2(x))
///
/// with dropout on the attention weights, inside the feed-forward network and on the outputs of
/// attn and ff. A window, `causal` and relative position biases are added to the mask.
///
/// With `gradient_checkpoint` a tape keeps only the layer's input, instead of all tensors that its
/// backward reads, and backward computes the layer again. Training takes about 1/3 more time, and
/// the memory grows by only one tensor per layer. The bits stay the same, also with dropout. It
/// has no effect if the weights are returned or a hook is active; see gradient_checkpoint.h.
///
/// **Shapes**: (B, T, D) -> (B, T, D). The batch axis is optional. With batch_first = false (T, B,
/// D).
/// **Parameters** have PyTorch's names: self_attn.in_proj_weight, linear1.weight, norm1.weight,
/// ...; a gated linear1.weight is (2F, D). The learned relative position bias is called
/// relative_attention_bias.weight.
/// The options `attention` and `feed_forward` replace attn and ff by custom modules, which get
/// padded x, positions, and the mask with the layer's window and position biases. Dropouts,
/// residual connections and norms do not change.
/// **Errors**: sizes below 1; a number of heads that does not divide d_model; an unknown
/// activation or norm; post-norm without norm1; other options out of range; inputs or masks that do
/// not match; a custom part with batch_first = false, or inputs for it without a batch axis or
/// without padding; a custom part whose output is undefined or has a different shape or dtype; a
/// custom attention that returns no weights although weights are requested. Options and positions
/// of a rotary: as nn::Rotary; relative position biases: as nn::RelativePositionBias and nn::Alibi.
/// **Source**: Vaswani et al., 2017, section 3.1; Xiong et al., "On Layer Normalization in the
/// Transformer Architecture", 2020, for pre-norm; torch.nn.TransformerEncoderLayer.
struct EncoderLayer {
  std::optional<nn::MultiHeadAttention> self_attn;  // not used if there is a custom_attention
  std::optional<CustomAttention> custom_attention;
  std::optional<nn::FeedForward> feed_forward;  // not used if there is a custom_feed_forward
  std::optional<CustomFeedForward> custom_feed_forward;
  std::optional<nn::Norm> norm1;  // absent only with norm_first
  nn::Norm norm2;
  nn::Dropout dropout1, dropout2;
  std::optional<nn::RelativePositionBias> relative_position;
  std::optional<nn::Alibi> alibi;
  std::optional<index_t> window;
  bool causal;
  bool norm_first;
  bool batch_first;
  bool gradient_checkpoint;

  explicit EncoderLayer(const EncoderLayerOptions& options,
                        const nn::ParameterSource& from = default_rng());

  Tensor operator()(const EncoderInputs& inputs) const;
  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}) const {
    return (*this)(EncoderInputs{x, mask});
  }

  /// The output together with the layer's requested attention weights. **Errors**: also a head or
  /// query that does not exist.
  AttentionResult with_attentions(const EncoderInputs& inputs,
                                  const AttentionRequest& request = {}) const;

  /// Whether the layer has a custom part, which needs padded inputs.
  bool has_custom_part() const { return custom_attention || custom_feed_forward; }

  static void visit(auto& self, auto&& visitor) {
    if (self.custom_attention) {
      visitor("self_attn", self.custom_attention);
    } else {
      visitor("self_attn", self.self_attn);
    }
    if (self.custom_feed_forward) {
      visitor("feed_forward", self.custom_feed_forward);
    } else if (self.feed_forward) {  // PyTorch keeps linear1 and linear2 in the layer itself
      nn::FeedForward::visit(*self.feed_forward, visitor);
    }
    visitor("norm1", self.norm1);
    visitor("norm2", self.norm2);
    visitor("dropout1", self.dropout1);
    visitor("dropout2", self.dropout2);
    visitor("relative_attention_bias", self.relative_position);
    visitor("alibi", self.alibi);
  }

 private:
  AttentionMask mask_of(const EncoderInputs& inputs) const;
  AttentionResult attend(const Tensor& query, const Tensor& residual, const EncoderInputs& inputs,
                         const std::optional<AttentionRequest>& request) const;
  Tensor feed(const Tensor& x, const Tensor& residual) const;
  AttentionResult compute(const EncoderInputs& inputs,
                          const std::optional<AttentionRequest>& request) const;
  Tensor compute_checkpointed(const EncoderInputs& inputs) const;
};

}  // namespace tessera::models
