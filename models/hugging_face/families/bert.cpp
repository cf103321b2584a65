// BERT; many sentence encoders (MiniLM, bge, e5, gte) are of this family.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace bert {
namespace {

constexpr WeightName kHeads[] = {
    {"pooler.dense.*", "pooler.dense.*"},
    {"head.dense.*", "pooler.dense.*"},
    {"classifier.*", "classifier.*"},
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.seq_relationship.*", "cls.seq_relationship.*"},
    {"cls.predictions.transform.dense.*", "cls.predictions.transform.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "cls.predictions.transform.LayerNorm.*"},
    {"cls.predictions.bias", "cls.predictions.bias"},
    {"cls.predictions.bias", "cls.predictions.decoder.bias"},
    {"cls.predictions.decoder.weight", "cls.predictions.decoder.weight"},
    {"embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},  // tied, stored once
};

/// All options except the positions. Set member by member: if a later initializer of an aggregate
/// throws, GCC 12 frees a vector of an earlier one twice.
TokenEncoderOptions stack_of(const Json& config, const EncoderLayerOptions& layer,
                             std::string_view layers) {
  TokenEncoderOptions result = {
      .vocab_size = config.integer("vocab_size", {1, config::kMaxVocabulary}), .encoder = {}};
  result.encoder.layers = repeat_layer(layer, config::layer_count(config, layers));
  result.dropout = layer.dropout;
  result.embedding_norm = true;
  return result;
}

}  // namespace
}  // namespace bert

EncoderLayerOptions bert_layer(const Json& config) {
  config::want_text(config, "position_embedding_type", "absolute");
  config::want_flag(config, "is_decoder", false);
  config::want_flag(config, "add_cross_attention", false);
  const index_t d_model = config::width(config, "hidden_size");
  return {
      .d_model = d_model,
      .nhead = config::heads(config, "num_attention_heads", d_model),
      .dim_feedforward = config::width(config, "intermediate_size"),
      .dropout = config::probability(config, "hidden_dropout_prob", 0.1),
      .activation = config::activation(config, "hidden_act", "gelu"),
      .layer_norm_eps = config::epsilon(config, "layer_norm_eps", 1e-12),
      .attention_dropout = config::probability(config, "attention_probs_dropout_prob", 0.1),
      .feed_forward_dropout = 0,
  };
}

TokenEncoderOptions learned_positions(const Json& config, const EncoderLayerOptions& layer,
                                      std::string_view layers) {
  TokenEncoderOptions result = bert::stack_of(config, layer, layers);
  result.positions = Positions::kLearned;
  result.max_positions = config::positions(config, "max_position_embeddings", 512);
  return result;
}

TokenEncoderOptions rotary_positions(const Json& config, const EncoderLayerOptions& layer,
                                     std::string_view layers) {
  TokenEncoderOptions result = bert::stack_of(config, layer, layers);
  result.positions = Positions::kNone;
  result.max_positions = layer.rotary->max_positions;
  return result;
}

TokenEncoderOptions bert_options(const Json& config) {
  TokenEncoderOptions result = learned_positions(config, bert_layer(config), "num_hidden_layers");
  result.type_vocab_size = config::width(config, "type_vocab_size", 2);
  return result;
}

constinit const Family kBert = {.name = "bert",
                                .classes = "Bert",
                                .prefix = "bert.",
                                .encoder_names = kBertEncoder,
                                .head_names = bert::kHeads,
                                .options = bert_options,
                                .heads = {.masked_key = "hidden_act"}};

}  // namespace tessera::models::families
