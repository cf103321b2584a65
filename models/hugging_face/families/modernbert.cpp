// ModernBERT: pre-norm, gated, rotary; most layers see a window only.
#include <array>
#include <optional>
#include <vector>

#include "models/hugging_face/config.h"
#include "models/hugging_face/families/families.h"

namespace tessera::models::families {

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

/// What distinguishes layers: whether they see all tokens, and the base of their angles.
struct Attention {
  bool global;
  double base;
};

/// The base that rope_parameters have for a kind of layer.
std::optional<double> newer_base(const Json& config, std::string_view kind) {
  const auto parameters = config.find("rope_parameters");
  if (!parameters) return {};
  const auto its = parameters->find(kind);
  if (!its) return {};
  config::want_text(*its, "rope_type", "default");
  return config::rotary_base(*its, "rope_theta", 0);
}

/// Whether the key is there, though it be null.
bool lists(const Json& config, std::string_view key) {
  for (const Json& value : config.items()) {
    if (value.key() == key) return true;
  }
  return false;
}

/// Newer configs name each layer's kind; older ones say how often a global one comes.
std::vector<Attention> attentions(const Json& config, index_t layers) {
  constexpr std::array<std::string_view, 2> kKinds = {"sliding_attention", "full_attention"};
  const double global = config::rotary_base(config, "global_rope_theta", 160000);
  const double local = config.has("local_rope_theta")
                           ? config::rotary_base(config, "local_rope_theta", 10000)
                       : lists(config, "local_rope_theta") ? global
                                                           : 10000;
  const double bases[] = {newer_base(config, kKinds[0]).value_or(local),
                          newer_base(config, kKinds[1]).value_or(global)};
  std::vector<Attention> result;
  const auto types = config.find("layer_types");
  if (!types) {
    const index_t every = config.integer("global_attn_every_n_layers", {1, config::kMaxLayers}, 3);
    for (index_t i = 0; i < layers; ++i) {
      const bool is_global = i % every == 0;
      result.push_back({is_global, bases[is_global ? 1 : 0]});
    }
    return result;
  }
  if (!types->is_list() || types->size() != layers) {
    types->fail("wanted a list of ", layers, " kinds of attention, one a layer, got ",
                types->is_list() ? format(types->size()) : types->described());
  }
  for (const Json& type : types->items()) {
    const bool is_global = type.text() == kKinds[1];
    if (!is_global && type.text() != kKinds[0]) {
      type.fail("wanted full_attention or sliding_attention, got ", type.described());
    }
    result.push_back({is_global, bases[is_global ? 1 : 0]});
  }
  return result;
}

EncoderLayerOptions layer_of(const Json& config) {
  const index_t d_model = config::width(config, "hidden_size");
  const double attention_dropout = config::probability(config, "attention_dropout", 0);
  return {
      .d_model = d_model,
      .nhead = config::heads(config, "num_attention_heads", d_model),
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = 0,
      .activation = config::activation(config, "hidden_activation", "gelu"),
      .layer_norm_eps = config::epsilon(config, "norm_eps", 1e-5),
      .norm_first = true,
      .norm = {.bias = config.boolean("norm_bias", false)},
      .attention = {.bias = config.boolean("attention_bias", false)},
      .feed_forward = {.bias = config.boolean("mlp_bias", false), .gated = true},
      .dropouts = {.attention_weights = attention_dropout,
                   .attention_output = attention_dropout,
                   .feed_forward = config::probability(config, "mlp_dropout", 0)},
  };
}

TokenEncoderOptions options(const Json& config) {
  const EncoderLayerOptions layer = layer_of(config);
  const index_t tokens = config::positions(config, "max_position_embeddings", 8192);
  const index_t window = config.integer("local_attention", {1, config::kMaxPositions}, 128) / 2;
  auto layers = repeat_layer(layer, config::layer_count(config, "num_hidden_layers"));
  const std::vector<Attention> kinds = attentions(config, std::ssize(layers));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].attention.rotary =
        config::rotary(config, kinds[i].base, tokens, layer.d_model, layer.nhead);
    if (!kinds[i].global) layers[i].attention.window = window;
  }
  layers[0].norm.placement = NormPlacement::kPreFeedForward;  // its input is normalised already
  return {.vocabulary_size = config::vocabulary_size(config),
          .encoder = {.layers = layers, .final_norm = true},
          .positions = Positions::kNone,
          .max_tokens = tokens,
          .dropout = config::probability(config, "embedding_dropout", 0),
          .embedding_norm = true};
}

}  // namespace

constinit const Family kModernBert = {.name = "modernbert",
                                      .prefix = "model.",
                                      .encoder_names = kEncoder,
                                      .head_names = kHeads,
                                      .options = options};

}  // namespace tessera::models::families
