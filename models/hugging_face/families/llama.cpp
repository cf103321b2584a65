// The parts of Llama that Qwen3 and EuroBERT use: norms before attention and feed-forward, gated
// feed-forward, rotary positions, grouped heads.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace llama {
namespace {

/// The base of the angles; newer configs have it in `rope_parameters`.
double base_of(const Json& config) {
  config::want_no_rope_scaling(config);
  const auto parameters = config.find("rope_parameters");
  return parameters ? config::plain_rope_base(*parameters)
                    : config::rotary_base(config, "rope_theta");
}

}  // namespace
}  // namespace llama

EncoderLayerOptions llama_layer(const Json& config, double eps) {
  const index_t d_model = config::width(config, "hidden_size");
  const bool has_mlp_bias = config.boolean("mlp_bias", false);
  EncoderLayerOptions layer = {
      .d_model = d_model,
      .nhead = config::width(config, "num_attention_heads"),
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = 0,
      .activation = config::activation(config, "hidden_act", "silu"),
      .layer_norm_eps = config::epsilon(config, "rms_norm_eps", eps),
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
      config::rotary(config, llama::base_of(config),
                     config::positions(config, "max_position_embeddings", 32768), *layer.head_dim);
  return layer;
}

TokenEncoderOptions llama_options(const Json& config, const EncoderLayerOptions& layer) {
  TokenEncoderOptions result = rotary_positions(config, layer, "num_hidden_layers");
  result.embedding_norm = false;
  result.encoder.final_norm = true;
  return result;
}

}  // namespace tessera::models::families
