// One layer of a transformer encoder.
#pragma once

#include <optional>

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/layer_norm.h"

namespace tessera::models {

/// Where the norms of a layer stand.
enum class NormPlacement {
  kPost,            // after each sum: Vaswani et al., BERT
  kPre,             // in front of attention and of the feed-forward network
  kPreFeedForward,  // there alone: ModernBERT's first layer, whose input is normalised already
};

/// What EncoderLayerOptions cannot say in PyTorch's words, part by part; what is absent is as those
/// words say.
struct NormDetails {
  std::optional<NormPlacement> placement = {};  // norm_first
  std::optional<bool> bias = {};
};

struct AttentionDetails {
  std::optional<bool> bias = {};
  std::optional<double> scale = {};  // of the scores, 1 / sqrt(d_model / nhead) if absent
};

struct FeedForwardDetails {
  std::optional<bool> bias = {};
};

struct DropoutDetails {
  std::optional<double> attention_weights = {};
  std::optional<double> attention_output = {};
  std::optional<double> feed_forward = {};  // between its linear layers, where BERT has none
  std::optional<double> feed_forward_output = {};
};

/// One layer as data: torch.nn.TransformerEncoderLayer's options, with its defaults except
/// batch_first, then what other encoders have.
///
///     EncoderLayerOptions bert = {.d_model = 768, .nhead = 12, .dim_feedforward = 3072,
///                                 .activation = nn::Activation::kGelu, .layer_norm_eps = 1e-12,
///                                 .dropouts = {.feed_forward = 0}};
struct EncoderLayerOptions {
  index_t d_model;
  index_t nhead;
  index_t dim_feedforward = 2048;
  double dropout = 0.1;
  nn::Activation activation = nn::Activation::kRelu;
  double layer_norm_eps = 1e-5;
  bool batch_first = true;  // (B, T, D) rather than (T, B, D)
  bool norm_first = false;
  bool bias = true;
  bool gradient_checkpoint = false;  // memory for time, see EncoderLayer
  NormDetails norm = {};
  AttentionDetails attention = {};
  FeedForwardDetails feed_forward = {};
  DropoutDetails dropouts = {};
};

/// A norm as those of the layer, of its width.
nn::LayerNorm make_norm(const EncoderLayerOptions& options);

/// Self-attention and a feed-forward network, each with a residual connection and a norm:
///
///   post-norm:  x = norm1(x + attn(x))        x = norm2(x + ff(x))
///   pre-norm:   x = x + attn(norm1(x))        x = x + ff(norm2(x))
///
/// with dropout on the attention weights, inside the feed-forward network and on both sums'
/// branches. With NormPlacement::kPreFeedForward there is no norm1.
///
/// With `gradient_checkpoint` a tape keeps the layer's input alone, not the dozen tensors that its
/// backward reads, and backward computes the layer once more: a third more time, for memory that
/// grows by one tensor a layer. No bit changes, with dropout either. It is for calls that return no
/// weights; see tensor/autograd/gradient_checkpoint.h.
///
/// **Shapes**: (B, T, D) -> (B, T, D); without the batch axis too. With batch_first = false (T, B,
/// D). Parameters have PyTorch's names: self_attn.in_proj_weight, linear1.weight, norm1.weight, ...
/// **Errors**: sizes below 1; heads that do not divide d_model; inputs or masks that do not fit.
/// **Source**: Vaswani et al., 2017, section 3.1; Xiong et al., "On Layer Normalization in the
/// Transformer Architecture", 2020, for pre-norm; torch.nn.TransformerEncoderLayer.
struct EncoderLayer {
  nn::MultiHeadAttention self_attn;
  nn::FeedForward feed_forward;
  std::optional<nn::LayerNorm> norm1;
  nn::LayerNorm norm2;
  nn::Dropout dropout1, dropout2;
  NormPlacement placement;
  bool gradient_checkpoint;

  explicit EncoderLayer(const EncoderLayerOptions& options, Rng& rng = default_rng());

  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}) const;

  /// The output together with the layer's attention weights, those requested.
  AttentionResult with_weights(const Tensor& x, const AttentionMask& mask = {},
                               const AttentionRequest& request = {}) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("self_attn", self.self_attn);
    // PyTorch keeps linear1 and linear2 in the layer itself.
    nn::FeedForward::visit(self.feed_forward, visitor);
    visitor("norm1", self.norm1);
    visitor("norm2", self.norm2);
    visitor("dropout1", self.dropout1);
    visitor("dropout2", self.dropout2);
  }

 private:
  AttentionResult compute(const Tensor& x, const AttentionMask& mask,
                          const std::optional<AttentionRequest>& request) const;
  Tensor compute_checkpointed(const Tensor& x, const AttentionMask& mask) const;
};

}  // namespace tessera::models
