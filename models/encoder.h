// A stack of encoder layers.
#pragma once

#include <optional>
#include <vector>

#include "models/encoder_layer.h"

namespace tessera::models {

/// A stack as data: the options of each layer. Which family of models it belongs to is a question of
/// these options, not of a class.
struct EncoderOptions {
  std::vector<EncoderLayerOptions> layers;
  bool final_norm = false;              // as the last layer's; pre-norm stacks want it
  std::optional<index_t> d_model = {};  // needed only where there is no layer

  /// Of the vectors that go in and out. **Errors**: layers of several widths; no layer and no
  /// d_model.
  index_t width() const;
};

/// `count` layers with the same options. **Errors**: a negative count.
std::vector<EncoderLayerOptions> repeat_layer(const EncoderLayerOptions& layer, index_t count);

/// A norm as those of the last layer; a layer norm where there is none.
nn::LayerNorm make_norm(const EncoderOptions& options);

/// What an encoder computes together with its attention weights: one tensor a layer, in the order
/// in which the request chose layers.
struct EncoderTrace {
  Tensor output;
  std::vector<Tensor> weights;
};

/// `norm(layer_n(... layer_1(x)))`.
///
/// **Shapes**: (B, T, D) -> (B, T, D); without the batch axis too. With batch_first = false (T, B,
/// D). Parameters have PyTorch's names, `layers.0.self_attn.in_proj_weight`, ..., `norm.weight`.
/// Each layer draws its own initial weights; torch.nn.TransformerEncoder starts every layer as a
/// copy of one. Padded positions are computed like any other, but no real position sees them.
/// **Errors**: as EncoderLayer and EncoderOptions::width. **Source**: Vaswani et al., 2017; torch.nn.TransformerEncoder.
struct Encoder {
  std::vector<EncoderLayer> layers;
  std::optional<nn::LayerNorm> norm;

  explicit Encoder(const EncoderOptions& options, Rng& rng = default_rng());

  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}) const;

  /// The output together with the attention weights requested, of every layer unless it chooses.
  /// Layers that are not chosen take the fast path.
  /// **Errors**: also a layer that is not there.
  EncoderTrace with_weights(const Tensor& x, const AttentionMask& mask = {},
                            const AttentionRequest& request = {}) const;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("layers", self.layers);
    visitor("norm", self.norm);
  }
};

}  // namespace tessera::models
