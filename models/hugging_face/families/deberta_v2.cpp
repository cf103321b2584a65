// DeBERTa-v2 and -v3: BERT with disentangled attention, and a convolution in the largest models.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"
#include "tessera/models/hugging_face/sentence_encoder.h"

namespace tessera::models::families {

namespace deberta_v2 {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight"},
    {"embeddings.token_type_embeddings.weight", "embeddings.token_type_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"encoder.distance_table", "encoder.rel_embeddings.weight"},
    {"encoder.distance_norm.*", "encoder.LayerNorm.*"},
    {"encoder.convolution.*", "encoder.conv.conv.*"},
    {"encoder.convolution.norm.*", "encoder.conv.LayerNorm.*"},
    {"encoder.layers.#.self_attn.in_proj_*",
     "encoder.layer.#.attention.self.{query_proj,key_proj,value_proj}.*"},
    {"encoder.layers.#.self_attn.pos_key_proj.*", "encoder.layer.#.attention.self.pos_key_proj.*"},
    {"encoder.layers.#.self_attn.pos_query_proj.*",
     "encoder.layer.#.attention.self.pos_query_proj.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.output.dense.*"},
    {"encoder.layers.#.norm1.*", "encoder.layer.#.attention.output.LayerNorm.*"},
    {"encoder.layers.#.linear1.*", "encoder.layer.#.intermediate.dense.*"},
    {"encoder.layers.#.linear2.*", "encoder.layer.#.output.dense.*"},
    {"encoder.layers.#.norm2.*", "encoder.layer.#.output.LayerNorm.*"},
};

constexpr WeightName kHeads[] = {
    {"pooler.dense.*", "pooler.dense.*"},
    {"head.dense.*", "pooler.dense.*"},
    {"classifier.*", "classifier.*"},
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.predictions.transform.dense.*", "cls.predictions.transform.dense.*"},
    {"cls.predictions.transform.dense.*", "lm_predictions.lm_head.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "cls.predictions.transform.LayerNorm.*"},
    {"cls.predictions.transform.LayerNorm.*", "lm_predictions.lm_head.LayerNorm.*"},
    {"cls.predictions.bias", "cls.predictions.bias"},
    {"cls.predictions.bias", "cls.predictions.decoder.bias"},
    {"cls.predictions.bias", "lm_predictions.lm_head.bias"},
    {"cls.predictions.decoder.weight", "cls.predictions.decoder.weight"},
    {"embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},  // tied, stored once
};

/// The words under `key`, a list or a text such as "C2P | p2c", in lower case; none if the key is
/// absent.
std::vector<std::string> words_of(const Json& config, std::string_view key) {
  std::vector<std::string> words;
  const auto value = config.find(key);
  if (!value) return words;
  if (value->is_list()) {
    for (const Json& word : value->items()) words.emplace_back(word.text());
    return words;
  }
  std::istringstream rest{std::string(value->text())};
  for (std::string word; std::getline(rest, word, '|');) words.push_back(cleaned(word, true));
  std::erase(words, "");  // which has no effect
  return words;
}

/// Disentangled attention: span, buckets, terms and dropout.
nn::DisentangledOptions disentangled_of(const Json& config, double dropout) {
  const index_t given = config.integer("max_relative_positions", {-1, config::kMaxPositions}, -1);
  const index_t farthest =
      given >= 1 ? given : config::positions(config, "max_position_embeddings", 512);
  const index_t buckets = config.integer("position_buckets", {-1, config::kMaxPositions}, -1);
  nn::DisentangledOptions options = {.span = farthest,
                                     .content_to_position = false,
                                     .position_to_content = false,
                                     .shared = config.boolean("share_att_key", false),
                                     .dropout = dropout};
  if (buckets > 0) {
    const index_t most = 2 * farthest - 3;
    if (buckets < 2 || buckets > most) {
      config.at("position_buckets")
          .fail("must be from 2 to ", most, " for distances up to ", farthest, ", got ", buckets);
    }
    options.span = buckets;
    options.max_distance = farthest;
  }
  for (const std::string& term : words_of(config, "pos_att_type")) {
    if (term != "c2p" && term != "p2c") {
      config.at("pos_att_type").fail("must have only c2p and p2c, got ", printable(term));
    }
    (term == "c2p" ? options.content_to_position : options.position_to_content) = true;
  }
  return options;
}

TokenEncoderOptions options(const Json& config) {
  config::want_text(config, "pooler_hidden_act", "gelu");
  if (const double p = config.number("pooler_dropout", 0.0); p != 0) {
    config.at("pooler_dropout").fail("must be 0, got ", p);
  }
  EncoderLayerOptions layer = bert_layer(config);
  layer.layer_norm_eps = config::epsilon(config, "layer_norm_eps", 1e-7);
  if (config.has("attention_head_size")) {
    layer.head_dim = config::width(config, "attention_head_size");
  }
  const nn::DisentangledOptions disentangled = disentangled_of(config, layer.dropout);
  if (config.boolean("relative_attention", false)) {
    layer.disentangled = disentangled;
  } else {  // transformers counts the terms here too
    const index_t head_dim = layer.head_dim.value_or(layer.d_model / layer.nhead);
    layer.scale = 1 / std::sqrt(static_cast<double>(head_dim * disentangled.terms()));
  }
  TokenEncoderOptions result = learned_positions(config, layer, "num_hidden_layers");
  if (!config.boolean("position_biased_input", true)) result.positions = Positions::kNone;
  result.type_vocab_size = config.integer("type_vocab_size", {0, config::kMaxWidth}, 0);
  const index_t embedding = config::width(config, "embedding_size", layer.d_model);
  if (embedding != layer.d_model) {
    config.at("embedding_size").fail("must be hidden_size, ", layer.d_model, ", got ", embedding);
  }
  if (layer.disentangled) {
    const std::vector<std::string> norms = words_of(config, "norm_rel_ebd");
    result.encoder.distance_norm = std::ranges::find(norms, "layer_norm") != norms.end();
  }
  if (const index_t kernel = config.integer("conv_kernel_size", {0, 99}, 0); kernel > 0) {
    if (kernel % 2 == 0) config.at("conv_kernel_size").fail("must be odd, got ", kernel);
    config.integer("conv_groups", {1, 1}, 1);
    result.encoder.convolution = {.kernel_size = kernel};
    if (config.text("conv_act", "tanh") != "tanh") {
      result.encoder.convolution->activation = config::activation(config, "conv_act", "");
    }
  }
  return result;
}

}  // namespace
}  // namespace deberta_v2

constinit const Family kDebertaV2 = {.name = "deberta-v2",
                                     .classes = "DebertaV2",
                                     .prefix = "deberta.",
                                     .encoder_names = deberta_v2::kEncoder,
                                     .head_names = deberta_v2::kHeads,
                                     .options = deberta_v2::options,
                                     .heads = {.sequence = nn::Activation::kGelu,
                                               .masked_key = "hidden_act",
                                               .text_dropout = "cls_dropout"}};

}  // namespace tessera::models::families
