// nomic-bert: post-norm, gated by SiLU, rotary; its config has GPT-2's keys.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace nomic_bert {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.token_type_embeddings.weight", "embeddings.token_type_embeddings.weight"},
    {"embeddings.LayerNorm.*", "emb_ln.*"},
    {"encoder.layers.#.self_attn.in_proj_*", "encoder.layers.#.attn.Wqkv.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "encoder.layers.#.attn.out_proj.*"},
    {"encoder.layers.#.norm1.*", "encoder.layers.#.norm1.*"},
    {"encoder.layers.#.linear1.*", "encoder.layers.#.mlp.{fc12,fc11}.*"},  // fc12 is activated
    {"encoder.layers.#.linear2.*", "encoder.layers.#.mlp.fc2.*"},
    {"encoder.layers.#.norm2.*", "encoder.layers.#.norm2.*"},
};

constexpr WeightName kHeads[] = {
    {"pooler.dense.*", "pooler.dense.*"},
    {"head.dense.*", "pooler.dense.*"},
    {"classifier.*", "classifier.*"},
};

index_t rounded_up(index_t value, index_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Throws for all options of unsupported models. Two keys are required: without them it is one.
void check(const Json& config) {
  config.at("activation_function");
  config::want_text(config, "activation_function", "swiglu");
  for (const char* off :
       {"prenorm", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias", "rotary_emb_interleaved",
        "parallel_block", "use_rms_norm", "causal", "scale_attn_by_inverse_layer_idx"}) {
    config::want_flag(config, off, false);
  }
  config::want_flag(config, "scale_attn_weights", true);
  const double fraction = config.number("rotary_emb_fraction");
  if (fraction != 1) config.at("rotary_emb_fraction").fail("must be 1, got ", fraction);
  for (const char* absent : {"rotary_emb_scale_base", "rotary_scaling_factor"}) {
    if (const auto found = config.find(absent)) {
      found->fail("must be null, got ", found->described());
    }
  }
  config.integer("num_experts", {0, 0}, 0);
}

TokenEncoderOptions options(const Json& config) {
  check(config);
  const index_t d_model = config::width(config, "n_embd");
  const index_t nhead = config::heads(config, "n_head", d_model);
  const index_t tokens = config::positions(config, "n_positions", 2048);
  const index_t inner = config::width(config, "n_inner", 8 * d_model / 3);
  const EncoderLayerOptions layer = {
      .d_model = d_model,
      .nhead = nhead,
      .dim_feedforward = rounded_up(inner, 256),  // as in the model's code
      .dropout = config::probability(config, "resid_pdrop", 0),
      .activation = nn::Activation::kSilu,
      .layer_norm_eps = config::epsilon(config, "layer_norm_epsilon", 1e-12),
      .gated = true,
      .rotary = config::rotary(config, config::rotary_base(config, "rotary_emb_base", 1000), tokens,
                               d_model / nhead),
      .attention_bias = false,
      .linear1_bias = false,
      .linear2_bias = false,
      .attention_dropout = config::probability(config, "attn_pdrop", 0),
      .feed_forward_dropout = 0,
  };
  const index_t multiple = config.integer("pad_vocab_size_multiple", {1, 65'536}, 1);
  TokenEncoderOptions result = rotary_positions(config, layer, "n_layer");
  result.vocab_size = rounded_up(result.vocab_size, multiple);
  result.type_vocab_size = config.integer("type_vocab_size", {0, config::kMaxWidth}, 2);
  result.dropout = config::probability(config, "embd_pdrop", 0);
  return result;
}

}  // namespace
}  // namespace nomic_bert

constinit const Family kNomicBert = {.name = "nomic_bert",
                                     .classes = "NomicBert",
                                     .prefix = "bert.",
                                     .encoder_names = nomic_bert::kEncoder,
                                     .head_names = nomic_bert::kHeads,
                                     .options = nomic_bert::options};

}  // namespace tessera::models::families
