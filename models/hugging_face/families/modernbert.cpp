// ModernBERT: pre-norm, gated, rotary; most layers see only a window.
#include <optional>
#include <string>
#include <vector>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace modernbert {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.norm.*"},
    {"encoder.layers.#.norm1.*", "layers.#.attn_norm.*"},  // absent in layer 0
    {"encoder.layers.#.self_attn.in_proj_*", "layers.#.attn.Wqkv.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "layers.#.attn.Wo.*"},
    {"encoder.layers.#.norm2.*", "layers.#.mlp_norm.*"},
    {"encoder.layers.#.linear1.*", "layers.#.mlp.Wi.*"},
    {"encoder.layers.#.linear2.*", "layers.#.mlp.Wo.*"},
    {"encoder.norm.*", "final_norm.*"},
};

constexpr WeightName kHeads[] = {
    {"head.dense.*", "head.dense.*"},
    {"head.norm.*", "head.norm.*"},
    {"classifier.*", "classifier.*"},
    {"qa_outputs.*", "classifier.*"},
    {"cls.predictions.transform.dense.*", "head.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "head.norm.*"},
    {"cls.predictions.bias", "decoder.bias"},
    {"cls.predictions.decoder.weight", "decoder.weight"},
    {"embeddings.word_embeddings.weight", "decoder.weight"},  // tied, stored once
};

constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kFull = "full_attention";

/// Whether the key exists, even if it is null.
bool lists(const Json& config, std::string_view key) {
  for (const Json& value : config.items()) {
    if (value.key() == key) return true;
  }
  return false;
}

/// The base of the angles in one kind of layer, `otherwise` without one in `rope_parameters`.
double base_of(const Json& config, std::string_view kind, double otherwise) {
  const auto parameters = config.find("rope_parameters");
  if (!parameters) return otherwise;
  const auto its = parameters->find(kind);
  if (!its && !parameters->has(kFull) && !parameters->has(kSliding)) {
    parameters->fail("must have ", kFull, " or ", kSliding, ", got neither");
  }
  if (!its) return otherwise;
  return config::plain_rope_base(*its, otherwise);
}

struct Bases {
  double full, sliding;
};

Bases bases(const Json& config) {
  const double full = config::rotary_base(config, "global_rope_theta", 160000);
  const bool as_full = lists(config, "local_rope_theta") && !config.has("local_rope_theta");
  const double sliding = as_full ? full : config::rotary_base(config, "local_rope_theta", 10000);
  return {base_of(config, kFull, full), base_of(config, kSliding, sliding)};
}

/// The layers that see all tokens: newer configs list the kind of each layer, older ones give the
/// period.
std::vector<bool> full_layers(const Json& config, index_t layers) {
  std::vector<bool> full;
  const auto types = config.find("layer_types");
  if (!types) {
    const index_t every = config.integer("global_attn_every_n_layers", {1, config::kMaxLayers}, 3);
    for (index_t i = 0; i < layers; ++i) full.push_back(i % every == 0);
    return full;
  }
  if (!types->is_list() || types->size() != layers) {
    types->fail("must be a list of ", layers, " kinds of attention, one per layer, got ",
                types->is_list() ? str_cat(types->size()) : types->described());
  }
  for (const Json& type : types->items()) {
    if (type.text() != kFull && type.text() != kSliding) {
      type.fail("must be ", kFull, " or ", kSliding, ", got ", type.described());
    }
    full.push_back(type.text() == kFull);
  }
  return full;
}

EncoderLayerOptions layer_of(const Json& config) {
  const index_t d_model = config::width(config, "hidden_size");
  const index_t nhead = config::heads(config, "num_attention_heads", d_model);
  const index_t tokens = config::positions(config, "max_position_embeddings", 8192);
  const double attention_dropout = config::probability(config, "attention_dropout", 0);
  const bool has_mlp_bias = config.boolean("mlp_bias", false);
  return {
      .d_model = d_model,
      .nhead = nhead,
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = 0,
      .activation = config::activation(config, "hidden_activation", "gelu"),
      .layer_norm_eps = config::epsilon(config, "norm_eps", 1e-5),
      .norm_first = true,
      .gated = true,
      .rotary = config::rotary(config, 10000, tokens, d_model / nhead),
      .attention_bias = config.boolean("attention_bias", false),
      .linear1_bias = has_mlp_bias,
      .linear2_bias = has_mlp_bias,
      .norm_bias = config.boolean("norm_bias", false),
      .attention_dropout = attention_dropout,
      .feed_forward_dropout = config::probability(config, "mlp_dropout", 0),
      .dropout1 = attention_dropout,
  };
}

/// The tokens on each side that a layer with a window sees.
index_t window_of(const Json& config) {
  const index_t window = config.integer("local_attention", {1, config::kMaxPositions}, 128) / 2;
  // Newer versions of transformers follow this key, older ones do not read it.
  const auto newer = config.find("sliding_window");
  if (newer && newer->integer() != window) {
    newer->fail("must be ", window, ", half of local_attention, got ", newer->described());
  }
  return window;
}

TokenEncoderOptions options(const Json& config) {
  const EncoderLayerOptions layer = layer_of(config);
  const index_t window = window_of(config);
  config::want_no_rope_scaling(config);
  TokenEncoderOptions result = rotary_positions(config, layer, "num_hidden_layers");
  std::vector<EncoderLayerOptions>& layers = result.encoder.layers;
  const std::vector<bool> full = full_layers(config, std::ssize(layers));
  const Bases base = bases(config);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].rotary->base = full[i] ? base.full : base.sliding;
    if (!full[i]) layers[i].window = window;
  }
  layers[0].norm1 = false;  // its input is already normalised
  result.encoder.final_norm = true;
  result.dropout = config::probability(config, "embedding_dropout", 0);
  return result;
}

PredictionHeadOptions head(const Json& config) {
  return {.activation = config::activation(config, "classifier_activation", "gelu"),
          .bias = config.boolean("classifier_bias", false),
          .norm = true};
}

Pooling pooling(const Json& config) {
  const std::string name = config.text("classifier_pooling", "cls");
  if (name == "cls") return Pooling::kCls;
  if (name == "mean") return Pooling::kMean;
  const Json key = config.at("classifier_pooling");
  key.fail("must be cls or mean, got ", key.described());
}

}  // namespace
}  // namespace modernbert

constinit const Family kModernBert = {.name = "modernbert",
                                      .classes = "ModernBert",
                                      .prefix = "model.",
                                      .encoder_names = modernbert::kEncoder,
                                      .head_names = modernbert::kHeads,
                                      .options = modernbert::options,
                                      .heads = {.masked_bias_key = "decoder_bias",
                                                .shared = modernbert::head,
                                                .pooling = modernbert::pooling}};

}  // namespace tessera::models::families
