// MPNet: BERT with a bias by distance, shared by all layers, and RoBERTa's positions.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace mpnet {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"encoder.relative_attention_bias.weight", "encoder.relative_attention_bias.weight"},
    {"encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.attn.{q,k,v}.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.attn.o.*"},
    {"encoder.layers.#.norm1.*", "encoder.layer.#.attention.LayerNorm.*"},
    {"encoder.layers.#.linear1.*", "encoder.layer.#.intermediate.dense.*"},
    {"encoder.layers.#.linear2.*", "encoder.layer.#.output.dense.*"},
    {"encoder.layers.#.norm2.*", "encoder.layer.#.output.LayerNorm.*"},
};

// Fixed in the model's code, for any config.
constexpr nn::DistanceBuckets kDistances = {.buckets = 32, .max_distance = 128};
constexpr index_t kPadding = 1;

TokenEncoderOptions options(const Json& config) {
  config.integer("relative_attention_num_buckets", {kDistances.buckets, kDistances.buckets},
                 kDistances.buckets);
  TokenEncoderOptions result = learned_positions(config, bert_layer(config), "num_hidden_layers");
  result.encoder.relative_position = kDistances;
  result.pad_token_id = kPadding;
  result.max_positions = config::positions_after(config, "max_position_embeddings",
                                                 result.max_positions, kPadding + 1);
  return result;
}

}  // namespace
}  // namespace mpnet

constinit const Family kMpnet = {.name = "mpnet",
                                 .classes = "MPNet",
                                 .prefix = "mpnet.",
                                 .encoder_names = mpnet::kEncoder,
                                 .head_names = kRobertaHeads,
                                 .options = mpnet::options};

}  // namespace tessera::models::families
