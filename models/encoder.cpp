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

index_t EncoderOptions::width() const {
  require(d_model || !layers.empty(), "Encoder", "without layers it needs a d_model");
  const index_t width = d_model.value_or(layers.empty() ? 0 : layers.front().d_model);
  for (const EncoderLayerOptions& layer : layers) {
    require(layer.d_model == width, "Encoder", "a layer of d_model ", layer.d_model,
            " in a stack of d_model ", width);
  }
  return width;
}

std::vector<EncoderLayerOptions> repeat_layer(const EncoderLayerOptions& layer, index_t count) {
  require(count >= 0, "repeat_layer", "a negative number of layers: ", count);
  return std::vector<EncoderLayerOptions>(static_cast<std::size_t>(count), layer);
}

nn::LayerNorm make_norm(const EncoderOptions& options) {
  return options.layers.empty() ? nn::LayerNorm(options.width()) : make_norm(options.layers.back());
}

Encoder::Encoder(const EncoderOptions& options, Rng& rng) {
  if (!options.layers.empty()) options.width();
  for (const EncoderLayerOptions& layer : options.layers) layers.emplace_back(layer, rng);
  if (options.final_norm) norm.emplace(make_norm(options));
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
