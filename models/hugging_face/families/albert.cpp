// ALBERT: narrow embeddings, and a few layers that are applied repeatedly.
//
// Layer i of the config runs group i groups / layers, whose inner layers are applied in sequence.
// Our layers are the inner layers of all groups, each once; EncoderOptions::order gives the
// sequence.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace albert {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight"},
    {"embeddings.token_type_embeddings.weight", "embeddings.token_type_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"embeddings.projection.*", "encoder.embedding_hidden_mapping_in.*"},
    {"encoder.layers.#.self_attn.in_proj_*",
     "encoder.albert_layer_groups.@.albert_layers.%.attention.{query,key,value}.*"},
    {"encoder.layers.#.self_attn.out_proj.*",
     "encoder.albert_layer_groups.@.albert_layers.%.attention.dense.*"},
    {"encoder.layers.#.norm1.*",
     "encoder.albert_layer_groups.@.albert_layers.%.attention.LayerNorm.*"},
    {"encoder.layers.#.linear1.*", "encoder.albert_layer_groups.@.albert_layers.%.ffn.*"},
    {"encoder.layers.#.linear2.*", "encoder.albert_layer_groups.@.albert_layers.%.ffn_output.*"},
    {"encoder.layers.#.norm2.*",
     "encoder.albert_layer_groups.@.albert_layers.%.full_layer_layer_norm.*"},
};

constexpr WeightName kHeads[] = {
    {"pooler.dense.*", "pooler.*"},
    {"head.dense.*", "pooler.*"},
    {"classifier.*", "classifier.*"},
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.seq_relationship.*", "sop_classifier.classifier.*"},
    {"cls.predictions.transform.dense.*", "predictions.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "predictions.LayerNorm.*"},
    {"cls.predictions.bias", "predictions.bias"},
    {"cls.predictions.bias", "predictions.decoder.bias"},
    {"cls.predictions.decoder.weight", "predictions.decoder.weight"},
    {"embeddings.word_embeddings.weight", "predictions.decoder.weight"},  // tied, stored once
};

index_t group_size(const Json& config) {
  return config.integer("inner_group_num", {1, config::kMaxLayers}, 1);
}

TokenEncoderOptions options(const Json& config) {
  const index_t d_model = config::width(config, "hidden_size");
  config::want_text(config, "position_embedding_type", "absolute");
  const EncoderLayerOptions layer = {
      .d_model = d_model,
      .nhead = config::heads(config, "num_attention_heads", d_model),
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = config::probability(config, "hidden_dropout_prob", 0),
      .activation = config::activation(config, "hidden_act", "gelu_new"),
      .layer_norm_eps = config::epsilon(config, "layer_norm_eps", 1e-12),
      .attention_dropout = config::probability(config, "attention_probs_dropout_prob", 0),
      .feed_forward_dropout = 0,
      .dropout2 = 0,
  };
  const index_t steps = config::layer_count(config, "num_hidden_layers");
  const index_t groups = config.integer("num_hidden_groups", {1, steps}, 1);
  const index_t inner = group_size(config);
  if (steps * inner > config::kMaxLayers) {
    config.at("inner_group_num")
        .fail("must be at most ", config::kMaxLayers / steps, " for ", steps, " layers, got ",
              inner);
  }
  TokenEncoderOptions result = learned_positions(config, layer, "num_hidden_layers");
  result.encoder.layers = repeat_layer(layer, groups * inner);
  for (index_t i = 0; i < steps; ++i) {
    for (index_t k = 0; k < inner; ++k) {
      result.encoder.order.push_back(i * groups / steps * inner + k);
    }
  }
  result.embedding_width = config::width(config, "embedding_size", 128);
  result.type_vocab_size = config::width(config, "type_vocab_size", 2);
  return result;
}

}  // namespace
}  // namespace albert

constinit const Family kAlbert = {.name = "albert",
                                  .classes = "Albert",
                                  .prefix = "albert.",
                                  .encoder_names = albert::kEncoder,
                                  .head_names = albert::kHeads,
                                  .options = albert::options,
                                  .heads = {.masked_key = "hidden_act",
                                            .masked = nn::Activation::kGeluTanh,
                                            .text_dropout = "classifier_dropout_prob",
                                            .token_dropout = "classifier_dropout_prob",
                                            .dropout = 0.1},
                                  .group_size = albert::group_size};

}  // namespace tessera::models::families
