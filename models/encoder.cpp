#include "models/encoder.h"

#include "tensor/error.h"

namespace tessera::models {

Encoder::Encoder(const EncoderOptions& options, Rng& rng) {
  require(options.num_layers >= 0, "Encoder", "a negative number of layers: ", options.num_layers);
  for (index_t i = 0; i < options.num_layers; ++i) layers.emplace_back(options.layer, rng);
  if (options.final_norm) {
    norm.emplace(nn::LayerNormOptions{.normalized_shape = {options.layer.d_model},
                                      .eps = options.layer.layer_norm_eps,
                                      .bias = options.layer.bias});
  }
}

Tensor Encoder::operator()(const Tensor& x, const AttentionMask& mask) const {
  return with_weights(x, mask, nn::Weights::kNone).output;
}

EncoderTrace Encoder::with_weights(const Tensor& x, const AttentionMask& mask,
                                   nn::Weights weights) const {
  EncoderTrace trace = {x, {}};
  for (const EncoderLayer& layer : layers) {
    AttentionResult step = layer.with_weights(trace.output, mask, weights);
    trace.output = step.output;
    if (step.weights.defined()) trace.weights.push_back(step.weights);
  }
  if (norm) trace.output = (*norm)(trace.output);
  return trace;
}

}  // namespace tessera::models
