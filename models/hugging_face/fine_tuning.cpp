#include "models/hugging_face/fine_tuning.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "tensor/error.h"

namespace tessera::models {

namespace {

constexpr const char* kFineTuningOp = "fine_tuning_groups";
constexpr std::string_view kLayers = "encoder.layers.";
/// Added to tokens or to scores of attention before the first layer computes.
constexpr std::string_view kLowest[] = {"embeddings.", "encoder.relative_attention_bias."};

/// The number of the layer that a parameter belongs to; -1: none.
index_t layer_of(std::string_view name) {
  if (!name.starts_with(kLayers)) return -1;
  name.remove_prefix(kLayers.size());
  index_t layer = -1;
  std::from_chars(name.data(), name.data() + name.size(), layer);
  return layer;
}

void check(index_t layers, const FineTuningOptions& options) {
  const auto check_rate = [](const char* name, double value) {
    require(value >= 0 && std::isfinite(value), kFineTuningOp, name,
            " must be finite and at least 0, got ", value);
  };
  check_rate("lr", options.lr);
  check_rate("head_lr", options.head_lr.value_or(0));
  check_rate("layer_decay", options.layer_decay);
  require(options.fixed_layers >= 0 && options.fixed_layers <= layers, kFineTuningOp,
          "fixed_layers must be from 0 to ", layers, ", the layers of the model, got ",
          options.fixed_layers);
}

}  // namespace

index_t level_of(const std::string& name, index_t layers) {
  for (const std::string_view lowest : kLowest) {
    if (name.starts_with(lowest)) return 0;
  }
  const index_t layer = layer_of(name);
  if (layer >= 0) return layer + 1;
  return name.starts_with("encoder.") ? layers : layers + 1;
}

index_t layer_count(const std::vector<std::string>& names) {
  index_t count = 0;
  for (const std::string& name : names) count = std::max(count, layer_of(name) + 1);
  return count;
}

double rate_of(index_t level, index_t layers, const FineTuningOptions& options) {
  check(layers, options);
  if (level > layers) return options.head_lr.value_or(options.lr);
  const bool embeds = options.fixed_embeddings || options.fixed_layers > 0;
  if (level == 0 ? embeds : level <= options.fixed_layers) return 0;
  return options.lr * std::pow(options.layer_decay, static_cast<double>(layers - level));
}

std::vector<nn::ParameterGroup> groups_by_level(const nn::Parameters& parameters, index_t layers,
                                                const FineTuningOptions& options) {
  std::vector<std::string> names;
  for (const nn::Parameter& each : parameters) names.push_back(each.name);
  const index_t least = layer_count(names);
  require(layers >= least, kFineTuningOp, "layers must be at least ", least,
          ", the layers of the parameters, got ", layers);
  std::vector<nn::Parameters> levels(static_cast<std::size_t>(layers) + 2);
  for (const nn::Parameter& each : parameters) {
    levels[static_cast<std::size_t>(level_of(each.name, layers))].push_back(each);
  }
  std::vector<nn::ParameterGroup> groups;
  for (index_t level = layers + 1; level >= 0; --level) {
    for (nn::ParameterGroup& group :
         nn::split_weight_decay(levels[static_cast<std::size_t>(level)])) {
      if (group.parameters.empty()) continue;
      group.lr = rate_of(level, layers, options);
      if (!group.weight_decay) group.weight_decay = options.weight_decay;
      groups.push_back(std::move(group));
    }
  }
  require(!groups.empty(), kFineTuningOp,
          "at least 1 parameter must be trained, got none; reduce fixed_layers, or set lr above 0");
  return groups;
}

}  // namespace tessera::models
