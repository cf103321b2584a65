// A stack of encoder layers.
#pragma once

#include <optional>
#include <vector>

#include "models/encoder_layer.h"

namespace tessera::models {

struct EncoderOptions {
  EncoderLayerOptions layer;
  index_t num_layers;
  bool final_norm = false;  // pre-norm stacks want it; off by default, as in PyTorch
};

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
/// **Errors**: as EncoderLayer. **Source**: Vaswani et al., 2017; torch.nn.TransformerEncoder.
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
