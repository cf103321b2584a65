// Qwen3 as an encoder: pre-norm by RMS, gated, rotary, causal; heads in groups, with norms.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace qwen3 {
namespace {

constexpr WeightName kHeads[] = {
    {"classifier.*", "score.*"},
};

/// Throws unless every layer reads all tokens before its own.
void check_layers(const Json& config) {
  config::want_flag(config, "use_sliding_window", false);
  const auto types = config.find("layer_types");
  if (!types) return;
  for (const Json& type : types->items()) {
    if (type.text() != "full_attention") {
      type.fail("must be full_attention, got ", type.described());
    }
  }
}

/// The base of the angles, which newer configs have in `rope_parameters`.
double base_of(const Json& config) {
  const auto parameters = config.find("rope_parameters");
  const Json& place = parameters ? *parameters : config;
  if (parameters)
    config::want_text(place, place.has("rope_type") ? "rope_type" : "type", "default");
  if (const auto scaling = config.find("rope_scaling")) {
    scaling->fail("must be null, got ", scaling->described());
  }
  return config::rotary_base(place, "rope_theta");
}

TokenEncoderOptions options(const Json& config) {
  check_layers(config);
  EncoderLayerOptions layer = llama_layer(config);
  layer.causal = true;
  layer.head_norm_eps = layer.layer_norm_eps;
  return llama_options(config, layer);
}

Pooling last(const Json&) {
  return Pooling::kLast;
}

}  // namespace
}  // namespace qwen3

EncoderLayerOptions llama_layer(const Json& config) {
  const index_t d_model = config::width(config, "hidden_size");
  const bool has_mlp_bias = config.boolean("mlp_bias", false);
  EncoderLayerOptions layer = {
      .d_model = d_model,
      .nhead = config::width(config, "num_attention_heads"),
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = 0,
      .activation = config::activation(config, "hidden_act", "silu"),
      .layer_norm_eps = config::epsilon(config, "rms_norm_eps", 1e-6),
      .norm_first = true,
      .norm = nn::NormKind::kRMSNorm,
      .gated = true,
      .attention_bias = config.boolean("attention_bias", false),
      .linear1_bias = has_mlp_bias,
      .linear2_bias = has_mlp_bias,
      .attention_dropout = config::probability(config, "attention_dropout", 0),
  };
  layer.head_dim = config.has("head_dim")
                       ? config::width(config, "head_dim")
                       : d_model / config::heads(config, "num_attention_heads", d_model);
  layer.num_key_value_heads = config.has("num_key_value_heads")
                                  ? config::heads(config, "num_key_value_heads", layer.nhead)
                                  : layer.nhead;
  layer.rotary =
      config::rotary(config, qwen3::base_of(config),
                     config::positions(config, "max_position_embeddings", 32768), *layer.head_dim);
  return layer;
}

TokenEncoderOptions llama_options(const Json& config, const EncoderLayerOptions& layer) {
  TokenEncoderOptions result = rotary_positions(config, layer, "num_hidden_layers");
  result.embedding_norm = false;
  result.encoder.final_norm = true;
  return result;
}

constinit const Family kQwen3 = {.name = "qwen3",
                                 .classes = "Qwen3",
                                 .prefix = "model.",
                                 .encoder_names = kLlamaEncoder,
                                 .head_names = qwen3::kHeads,
                                 .options = qwen3::options,
                                 .heads = {.plain_sequence = true, .pooling = qwen3::last}};

}  // namespace tessera::models::families
