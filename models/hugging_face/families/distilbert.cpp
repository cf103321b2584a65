// DistilBERT: BERT without token types and pooler, with its own keys and names.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace distilbert {
namespace {

constexpr WeightName kEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"encoder.layers.#.self_attn.in_proj_*", "transformer.layer.#.attention.{q_lin,k_lin,v_lin}.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "transformer.layer.#.attention.out_lin.*"},
    {"encoder.layers.#.norm1.*", "transformer.layer.#.sa_layer_norm.*"},
    {"encoder.layers.#.linear1.*", "transformer.layer.#.ffn.lin1.*"},
    {"encoder.layers.#.linear2.*", "transformer.layer.#.ffn.lin2.*"},
    {"encoder.layers.#.norm2.*", "transformer.layer.#.output_layer_norm.*"},
};

constexpr WeightName kHeads[] = {
    {"head.dense.*", "pre_classifier.*"},
    {"classifier.*", "classifier.*"},
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.predictions.transform.dense.*", "vocab_transform.*"},
    {"cls.predictions.transform.LayerNorm.*", "vocab_layer_norm.*"},
    {"cls.predictions.bias", "vocab_projector.bias"},
    {"cls.predictions.decoder.weight", "vocab_projector.weight"},
    {"embeddings.word_embeddings.weight", "vocab_projector.weight"},  // tied, stored once
};

TokenEncoderOptions options(const Json& config) {
  const index_t d_model = config::width(config, "dim");
  const EncoderLayerOptions layer = {
      .d_model = d_model,
      .nhead = config::heads(config, "n_heads", d_model),
      .dim_feedforward = config::width(config, "hidden_dim"),
      .dropout = config::probability(config, "dropout", 0.1),
      .activation = config::activation(config, "activation", "gelu"),
      .layer_norm_eps = 1e-12,
      .attention_dropout = config::probability(config, "attention_dropout", 0.1),
      .feed_forward_dropout = 0,
      .dropout1 = 0,
  };
  return learned_positions(config, layer, "n_layers");
}

}  // namespace
}  // namespace distilbert

constinit const Family kDistilBert = {.name = "distilbert",
                                      .classes = "DistilBert",
                                      .prefix = "distilbert.",
                                      .encoder_names = distilbert::kEncoder,
                                      .head_names = distilbert::kHeads,
                                      .options = distilbert::options,
                                      .heads = {.sequence = nn::Activation::kRelu,
                                                .masked_key = "activation",
                                                .text_dropout = "seq_classif_dropout"}};

}  // namespace tessera::models::families
