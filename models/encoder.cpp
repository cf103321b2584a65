#include "models/encoder.h"

#include <algorithm>
#include <numeric>

#include "tensor/error.h"

namespace tessera::models {

namespace {

/// The numbers of the layers whose weights are requested, of `count`.
std::vector<index_t> chosen_layers(const AttentionRequest& request, index_t count) {
  std::vector<index_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<index_t> chosen = request.layers.value_or(all);
  for (const index_t number : chosen) {
    require(0 <= number && number < count, "Encoder", "there is no layer ", number, " among ",
            count);
  }
  return chosen;
}

}  // namespace

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
  Tensor y = x;
  for (const EncoderLayer& layer : layers) y = layer(y, mask);
  return norm ? (*norm)(y) : y;
}

EncoderTrace Encoder::with_weights(const Tensor& x, const AttentionMask& mask,
                                   const AttentionRequest& request) const {
  const std::vector<index_t> chosen = chosen_layers(request, std::ssize(layers));
  EncoderTrace trace = {x, std::vector<Tensor>(chosen.size())};
  for (index_t i = 0; i < std::ssize(layers); ++i) {
    const EncoderLayer& layer = layers[static_cast<std::size_t>(i)];
    if (std::ranges::find(chosen, i) == chosen.end()) {
      trace.output = layer(trace.output, mask);
      continue;
    }
    const AttentionResult step = layer.with_weights(trace.output, mask, request);
    trace.output = step.output;
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      if (chosen[n] == i) trace.weights[n] = step.weights;
    }
  }
  if (norm) trace.output = (*norm)(trace.output);
  return trace;
}

}  // namespace tessera::models
