#include "tessera/models/encoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/models/tokens.h"
#include "tessera/nn/detail/check.h"
#include "tessera/nn/hook.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"

namespace tessera::models {

namespace {

/// The numbers of the layers whose weights are requested, out of `count`.
std::vector<index_t> chosen_layers(const AttentionRequest& request, index_t count) {
  std::vector<index_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<index_t> chosen = request.layers.value_or(all);
  for (const index_t number : chosen) {
    require(0 <= number && number < count, "Encoder", "requested layers must be from 0 to ",
            count - 1, ", got ", number);
  }
  return chosen;
}

/// The inputs, unpadded if they are not unpadded yet and the lengths of the mask match them.
/// Attention refuses lengths that do not match.
EncoderInputs unpadded_inputs(const EncoderInputs& inputs,
                              const std::vector<EncoderLayer>& layers) {
  const Tensor& lengths = inputs.mask.lengths();
  const Tensor& x = inputs.x;
  const bool can_unpad = lengths.defined() && !inputs.unpadded && !layers.empty() &&
                         layers.front().batch_first && x.defined() && x.rank() == 3 &&
                         lengths.size(0) == x.size(0);
  if (!can_unpad) return inputs;
  EncoderInputs result = inputs;
  result.unpadded = unpadding_of(lengths, x.size(1));
  result.x = result.unpadded.unpad(x);
  const bool may_read_positions = std::ranges::any_of(layers, [](const EncoderLayer& layer) {
    return layer.has_custom_part() || (layer.self_attn && layer.self_attn->rotary);
  });
  if (may_read_positions) result.positions = unpad_positions(result.unpadded, inputs.positions);
  return result;
}

/// The inverse of unpadded_inputs: padded inputs, with a mask of lengths, for custom parts.
EncoderInputs padded_inputs(const EncoderInputs& inputs) {
  const UnpaddedRows& rows = inputs.unpadded;
  if (!rows) return inputs;
  std::vector<index_t> lengths;
  for (index_t b = 0; b < rows.batch(); ++b) {
    lengths.push_back(rows.offsets()[b + 1] - rows.offsets()[b]);
  }
  return {.x = rows.pad(inputs.x),
          .mask = inputs.mask & length_mask(lengths),
          .positions = inputs.positions.defined() ? rows.pad(inputs.positions) : Tensor()};
}

}  // namespace

index_t EncoderOptions::width() const {
  require(d_model || !layers.empty(), "Encoder",
          "d_model must be given if there are no layers, got none");
  const index_t width = d_model.value_or(layers.empty() ? 0 : layers.front().d_model);
  for (const EncoderLayerOptions& layer : layers) {
    require(layer.d_model == width, "Encoder", "all layers must have d_model ", width, ", got ",
            layer.d_model);
  }
  return width;
}

std::vector<EncoderLayerOptions> repeat_layer(const EncoderLayerOptions& layer, index_t count) {
  nn::detail::require_count("repeat_layer", "count", count);
  nn::detail::require_memory("repeat_layer", sizeof(layer) * static_cast<double>(count), count,
                             " layers");
  return std::vector<EncoderLayerOptions>(static_cast<std::size_t>(count), layer);
}

nn::NormOptions norm_options(const EncoderOptions& options) {
  if (options.layers.empty()) return {.width = options.width()};
  return norm_options(options.layers.back());
}

namespace {

/// Rotary tables; layers with equal options share one.
class RotaryTables {
 public:
  const nn::Rotary& of(const nn::RotaryOptions& options, index_t head_width) {
    for (const auto& [made_of, table] : tables_) {
      if (made_of == options && table.head_width == head_width) return table;
    }
    return tables_.emplace_back(options, nn::Rotary(options, head_width)).second;
  }

 private:
  std::vector<std::pair<nn::RotaryOptions, nn::Rotary>> tables_;
};

}  // namespace

Encoder::Encoder(const EncoderOptions& options, const nn::ParameterSource& from)
    : order(options.order) {
  for (const index_t number : order) {
    require(0 <= number && number < std::ssize(options.layers), "Encoder",
            "order must have numbers from 0 to ", std::ssize(options.layers) - 1,
            ", those of the layers, got ", number);
  }
  if (options.d_model) nn::detail::require_size("Encoder", "d_model", *options.d_model);
  if (!options.layers.empty()) options.width();
  for (const EncoderLayerOptions& layer : options.layers) {
    require(layer.batch_first == options.layers.front().batch_first, "Encoder",
            "all layers must have the same batch_first, got true and false");
  }
  RotaryTables tables;
  for (const EncoderLayerOptions& layer : options.layers) {
    const bool shares_table = layer.rotary && !layer.attention;
    EncoderLayerOptions options_here = layer;
    if (shares_table) options_here.rotary.reset();
    layers.emplace_back(options_here, from[str_cat("layers.", layers.size())]);
    if (!shares_table) continue;
    nn::MultiHeadAttention& attention = *layers.back().self_attn;
    attention.rotary = tables.of(*layer.rotary, attention.head_dim);
  }
  if (options.final_norm) norm.emplace(norm_options(options), from["norm"]);
  make_distance_table(options, from);
  if (options.convolution) {
    require(!layers.empty() && layers.front().batch_first, "Encoder",
            "layers must be at least 1 with batch_first for a convolution, got ", layers.size(),
            " layers");
    convolution.emplace(*options.convolution, options.layers.front(), from["convolution"]);
  }
  if (!options.relative_position) return;
  require(!layers.empty(), "Encoder", "layers must be at least 1 for a relative_position, got 0");
  const index_t heads = options.layers.front().nhead;
  for (const EncoderLayerOptions& layer : options.layers) {
    require(layer.batch_first, "Encoder",
            "batch_first must be true for a relative_position, got false");
    require(layer.nhead == heads, "Encoder",
            "layers that share a relative_position must have the same nhead, got ", heads, " and ",
            layer.nhead);
  }
  relative_position.emplace(
      nn::RelativePositionOptions{.num_heads = heads, .distances = *options.relative_position},
      from["relative_attention_bias"]);
}

/// The table for layers with disentangled attention, if there are any.
void Encoder::make_distance_table(const EncoderOptions& options, const nn::ParameterSource& from) {
  index_t span = 0;
  for (const EncoderLayerOptions& layer : options.layers) {
    if (!layer.disentangled) continue;
    require(!layer.rotary, "Encoder", "rotary must be absent for disentangled attention, got both");
    require(span == 0 || layer.disentangled->span == span, "Encoder",
            "all layers must have the same span of disentangled attention, got ", span, " and ",
            layer.disentangled->span);
    span = layer.disentangled->span;
  }
  if (span == 0) return;
  distance_table = from("distance_table", {2 * span, options.width()}, nn::init::normal(0.02));
  if (options.distance_norm) distance_norm.emplace(norm_options(options), from["distance_norm"]);
}

/// The inputs of layer 0, with the table of distances and the position bias of all layers.
EncoderInputs Encoder::with_shared(EncoderInputs inputs) const {
  inputs.distance_table = distance_norm ? (*distance_norm)(distance_table) : distance_table;
  if (!relative_position) return inputs;
  const index_t tokens = token_count("Encoder", inputs, true);
  inputs.mask = inputs.mask & additive_mask((*relative_position)(tokens, tokens));
  return inputs;
}

index_t Encoder::depth() const {
  return order.empty() ? std::ssize(layers) : std::ssize(order);
}

const EncoderLayer& Encoder::layer_at(index_t step) const {
  const auto i = static_cast<std::size_t>(step);
  return layers[order.empty() ? i : static_cast<std::size_t>(order[i])];
}

/// The output, and the weights of the layers that `request` chooses, if it is not null.
EncoderResult Encoder::compute(const EncoderInputs& inputs, const AttentionRequest* request) const {
  std::vector<index_t> chosen;
  if (request != nullptr) chosen = chosen_layers(*request, depth());
  std::vector<Tensor> weights(chosen.size());
  EncoderInputs y = unpadded_inputs(inputs, layers);
  const UnpaddedRows unpadded = y.unpadded;
  const bool has_custom_part = std::ranges::any_of(layers, &EncoderLayer::has_custom_part);
  if (has_custom_part) y = padded_inputs(y);
  y = with_shared(std::move(y));
  const nn::HookedRows hooked_rows(unpadded, layers.empty() || layers.front().batch_first);
  y.x = nn::hooked("input", y.x);
  for (index_t i = 0; i < depth(); ++i) {
    AttentionResult step;
    {
      const ModulePath path("layers", i);
      const bool is_chosen = std::ranges::find(chosen, i) != chosen.end();
      step = is_chosen ? layer_at(i).with_attentions(y, *request)
                       : AttentionResult{.output = layer_at(i)(y)};
    }
    if (i == 0 && convolution) {
      step.output = nn::hooked("convolution", (*convolution)(y, step.output));
    }
    y.x = step.output;
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      if (chosen[n] == i) weights[n] = step.weights;
    }
  }
  Tensor output = norm ? nn::hooked("norm", (*norm)(y.x)) : y.x;
  if (has_custom_part) output = unpadded.unpad(output);  // without the results of padding
  const UnpaddedRows unpadded_here = inputs.unpadded ? UnpaddedRows() : unpadded;
  return {nn::hooked("", unpadded_here.pad(output)), weights};
}

Tensor Encoder::operator()(const EncoderInputs& inputs) const {
  return compute(inputs, nullptr).output;
}

EncoderResult Encoder::with_attentions(const EncoderInputs& inputs,
                                       const AttentionRequest& request) const {
  return compute(inputs, &request);
}

}  // namespace tessera::models

namespace tessera::nn::detail {

template void PartLister::add(models::Encoder&) const;

}  // namespace tessera::nn::detail
