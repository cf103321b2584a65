// A stack of encoder layers.
#pragma once

#include <optional>
#include <vector>

#include "tessera/models/encoder_layer.h"
#include "tessera/models/token_convolution.h"

namespace tessera::models {

/// A stack as data: the options of each layer. A model family is a function that makes such
/// options, not a class.
struct EncoderOptions {
  std::vector<EncoderLayerOptions> layers;
  bool final_norm = false;              // a norm of the last layer's kind; pre-norm stacks need it
  std::optional<index_t> d_model = {};  // needed only if there is no layer
  std::optional<nn::DistanceBuckets> relative_position = {};  // one learned bias for all layers
  std::vector<index_t> order = {};  // indices of layers, which may repeat; if empty, each once
  bool distance_norm = false;       // normalises the table of disentangled attention
  std::optional<TokenConvolutionOptions> convolution = {};  // added to layer 0's output

  /// The width of the inputs and outputs. **Errors**: layers with a different d_model; no layer and
  /// no d_model.
  index_t width() const;
};

/// `count` layers with the same options. **Errors**: a negative count; OutOfMemory, before anything
/// is allocated, if the options do not fit into memory.
std::vector<EncoderLayerOptions> repeat_layer(const EncoderLayerOptions& layer, index_t count);

/// The options of the norms in the last layer. Without a layer, the options of a layer norm.
/// **Errors**: no layer and no d_model.
nn::NormOptions norm_options(const EncoderOptions& options);

/// The output of an encoder and its attention weights: one tensor per requested layer, in the order
/// of the request. If the stack has an `order`, the request chooses positions in this `order`.
struct EncoderResult {
  Tensor output;
  std::vector<Tensor> attentions;
};

/// `norm(layer_n(... layer_1(x)))`, or the layers in the sequence given by `order`: ALBERT applies
/// one layer twelve times.
///
/// **Shapes**: (B, T, D) -> (B, T, D). The batch axis is optional. With batch_first = false, (T, B,
/// D).
///
/// **Parameters** have PyTorch's names, `layers.0.self_attn.in_proj_weight`, ..., `norm.weight`.
/// Each layer draws its own initial weights; torch.nn.TransformerEncoder makes all layers copies of
/// one layer. Layers with equal rotary options share one table of angles, and with
/// `relative_position` all layers share one bias, relative_attention_bias.weight, as in T5 and
/// MPNet. Layers with disentangled attention share a table of distances, distance_table (2 span,
/// D), with distance_norm.weight and .bias (D). With a `convolution`, the output y of layer 0
/// becomes TokenConvolution(x, y), where x is the input of the stack: convolution.weight, ...
///
/// **Masks**: with a mask of lengths, positions after a length are not computed: the layers process
/// only the real tokens, in one row, sequence after sequence, and the output and requested weights
/// are 0 at padding. The dropout of a token's vectors then depends on the index of the token in
/// this row. All other results are the same. With batch_first = false, if a mask of a different
/// kind hides padding, or if a layer has a custom part, all layers compute padding, and no real
/// position sees the padding, except through a convolution. Then requested weights are not 0 at
/// padding.
///
/// **Errors**: as EncoderLayer; layers with a different d_model or batch_first; an index in `order`
/// without a layer; a final norm without a layer or a d_model. With `relative_position` also: no
/// layers; layers with different numbers of heads; batch_first = false. Layers whose disentangled
/// attention has a different span, or that have a rotary too; a convolution without layers, with
/// batch_first = false, or with an even kernel_size.
/// **Source**: Vaswani et al., 2017, section 3.1; torch.nn.TransformerEncoder; Lan et al.,
/// "ALBERT", 2020, section 3.1, for layers that repeat; He et al.,
/// "DeBERTa", 2021, and transformers.DebertaV2Model.
struct Encoder {
  std::vector<EncoderLayer> layers;
  std::optional<nn::Norm> norm;
  std::optional<nn::RelativePositionBias> relative_position;  // shared by all layers
  Tensor distance_table;                                      // shared by all layers
  std::optional<nn::Norm> distance_norm;
  std::optional<TokenConvolution> convolution;
  std::vector<index_t> order;  // if empty, each layer once

  explicit Encoder(const EncoderOptions& options, const nn::ParameterSource& from = default_rng());

  Tensor operator()(const EncoderInputs& inputs) const;
  Tensor operator()(const Tensor& x, const AttentionMask& mask = {}) const {
    return (*this)(EncoderInputs{x, mask});
  }

  /// The output together with the requested attention weights, by default of every layer. Layers
  /// that are not chosen take the fast path.
  /// **Errors**: also a layer, head or query that does not exist.
  EncoderResult with_attentions(const EncoderInputs& inputs,
                                const AttentionRequest& request = {}) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("layers", self.layers);
    visitor("norm", self.norm);
    visitor("relative_attention_bias", self.relative_position);
    visitor("distance_table", self.distance_table);
    visitor("distance_norm", self.distance_norm);
    visitor("convolution", self.convolution);
  }

 private:
  void make_distance_table(const EncoderOptions& options, const nn::ParameterSource& from);
  EncoderInputs with_shared(EncoderInputs inputs) const;
  /// The number of applied layers.
  index_t depth() const;
  /// The layer at a position of the order.
  const EncoderLayer& layer_at(index_t step) const;
  EncoderResult compute(const EncoderInputs& inputs, const AttentionRequest* request) const;
};

}  // namespace tessera::models

namespace tessera::nn::detail {

/// The list of this model's parts, which the library compiles once.
extern template void PartLister::add(models::Encoder&) const;

}  // namespace tessera::nn::detail
