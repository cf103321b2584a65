// GTE's "new" models: post-norm, gated, rotary, with NTK scaling for long texts.
#include <cmath>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace gte {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.token_type_embeddings.weight", "embeddings.token_type_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.qkv_proj.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.o_proj.*"},
    {"encoder.layers.#.norm1.*", "encoder.layer.#.attn_ln.*"},
    {"encoder.layers.#.linear1.*", "encoder.layer.#.mlp.up_gate_proj.*", Halves::kExchanged},
    {"encoder.layers.#.linear2.*", "encoder.layer.#.mlp.down_proj.*"},
    {"encoder.layers.#.norm2.*", "encoder.layer.#.mlp_ln.*"},
};

constexpr WeightName kHeads[] = {
    {"pooler.dense.*", "pooler.dense.*"},
    {"head.dense.*", "pooler.dense.*"},
    {"classifier.*", "classifier.*"},
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.predictions.transform.dense.*", "lm_head.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "lm_head.norm.*"},
    {"cls.predictions.bias", "lm_head.decoder.bias"},
    {"cls.predictions.decoder.weight", "lm_head.decoder.weight"},
    {"embeddings.word_embeddings.weight", "lm_head.decoder.weight"},  // tied, stored once
};

void check(const Json& config) {
  config::want_text(config, "position_embedding_type", "rope");
  config::want_text(config, "layer_norm_type", "layer_norm");
  config::want_flag(config, "pack_qkv", true);
  config::want_flag(config, "logn_attention_scale", false);
  config::want_flag(config, "logn_attention_clip1", false);
}

/// For s times as many positions the base grows by s, and all frequencies shrink by s^(2 / width).
nn::RotaryOptions rotary_of(const Json& config, index_t d_model, index_t nhead) {
  nn::RotaryOptions rotary =
      config::rotary(config, config::rotary_base(config, "rope_theta", 10000),
                     config::positions(config, "max_position_embeddings", 2048), d_model / nhead);
  const auto scaling = config.find("rope_scaling");
  if (!scaling) return rotary;
  config::want_text(*scaling, scaling->has("type") ? "type" : "rope_type", "ntk");
  if (const auto mixed = scaling->find("mixed_b"))
    mixed->fail("must be absent, got ", mixed->described());
  const double factor = scaling->number("factor");
  if (!(factor > 0 && factor < 1e6)) {
    scaling->at("factor").fail("must be greater than 0 and less than 1e6, got ", factor);
  }
  rotary.base *= factor;
  rotary.divisor = std::pow(factor, 2 / static_cast<double>(d_model / nhead));
  return rotary;
}

TokenEncoderOptions options(const Json& config) {
  check(config);
  const index_t d_model = config::width(config, "hidden_size");
  const index_t nhead = config::heads(config, "num_attention_heads", d_model);
  const EncoderLayerOptions layer = {
      .d_model = d_model,
      .nhead = nhead,
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = config::probability(config, "hidden_dropout_prob", 0.1),
      .activation = config::activation(config, "hidden_act", "gelu"),
      .layer_norm_eps = config::epsilon(config, "layer_norm_eps", 1e-12),
      .gated = true,
      .rotary = rotary_of(config, d_model, nhead),
      .linear1_bias = false,
      .attention_dropout = config::probability(config, "attention_probs_dropout_prob", 0),
      .feed_forward_dropout = 0,
  };
  TokenEncoderOptions result = rotary_positions(config, layer, "num_hidden_layers");
  result.type_vocab_size = config.integer("type_vocab_size", {0, config::kMaxWidth}, 1);
  return result;
}

}  // namespace
}  // namespace gte

constinit const Family kGte = {.name = "new",
                               .classes = "New",
                               .prefix = "new.",
                               .encoder_names = gte::kEncoder,
                               .head_names = gte::kHeads,
                               .options = gte::options,
                               .heads = {.masked_key = "hidden_act"}};

}  // namespace tessera::models::families
