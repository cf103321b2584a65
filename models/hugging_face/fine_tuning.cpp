#include "tessera/models/hugging_face/fine_tuning.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/error.h"

namespace tessera::models {

namespace {

constexpr const char* kFineTuningOp = "fine_tuning_groups";
constexpr std::string_view kLayers = "encoder.layers.";
/// Level 0: embeddings, parameters of positions, and the convolution added to layer 0's output.
constexpr std::string_view kLowest[] = {"embeddings.", "encoder.relative_attention_bias.",
                                        "encoder.distance_table", "encoder.distance_norm.",
                                        "encoder.convolution."};

/// The number of the layer that a parameter belongs to; -1: none.
index_t layer_number(std::string_view name) {
  if (!name.starts_with(kLayers)) return -1;
  name.remove_prefix(kLayers.size());
  index_t layer = -1;
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer;
}

}  // namespace

namespace detail {

LevelRates::LevelRates(const std::vector<std::string>& names, const FineTuningOptions& options)
    : options_(options) {
  for (const std::string& name : names) layers_ = std::max(layers_, layer_number(name) + 1);
  nn::detail::require_not_negative(kFineTuningOp, "lr", options.lr);
  nn::detail::require_not_negative(kFineTuningOp, "head_lr", options.head_lr.value_or(0));
  nn::detail::require_not_negative(kFineTuningOp, "layer_decay", options.layer_decay);
  require(options.frozen_layers >= 0 && options.frozen_layers <= layers_, kFineTuningOp,
          "frozen_layers must be from 0 to ", layers_, ", the layers of the model, got ",
          options.frozen_layers);
}

index_t LevelRates::level_of(const std::string& name) const {
  for (const std::string_view lowest : kLowest) {
    if (name.starts_with(lowest)) return 0;
  }
  const index_t layer = layer_number(name);
  if (layer >= 0) return layer + 1;
  return name.starts_with("encoder.") ? layers_ : layers_ + 1;
}

double LevelRates::rate_of(index_t level) const {
  if (level > layers_) return options_.head_lr.value_or(options_.lr);
  const bool embeds = options_.freeze_embeddings || options_.frozen_layers > 0;
  if (level == 0 ? embeds : level <= options_.frozen_layers) return 0;
  return options_.lr * std::pow(options_.layer_decay, static_cast<double>(layers_ - level));
}

std::vector<nn::ParameterGroup> LevelRates::groups(const nn::Parameters& parameters) const {
  std::vector<nn::Parameters> levels(static_cast<std::size_t>(layers_) + 2);
  for (const nn::Parameter& each : parameters) {
    levels[static_cast<std::size_t>(level_of(each.name))].push_back(each);
  }
  std::vector<nn::ParameterGroup> groups;
  for (index_t level = layers_ + 1; level >= 0; --level) {
    for (nn::ParameterGroup& group :
         nn::split_weight_decay(levels[static_cast<std::size_t>(level)])) {
      if (group.parameters.empty()) continue;
      group.lr = rate_of(level);
      if (!group.weight_decay) group.weight_decay = options_.weight_decay;
      groups.push_back(std::move(group));
    }
  }
  require(
      !groups.empty(), kFineTuningOp,
      "at least 1 parameter must be trained, got none; reduce frozen_layers, or set lr above 0");
  return groups;
}

}  // namespace detail

}  // namespace tessera::models
