// The families; each has a file with its names and its options.
#pragma once

#include "models/hugging_face/detail/family.h"

namespace tessera::models::families {

extern const Family kBert;
extern const Family kRoberta, kXlmRoberta, kCamembert;
extern const Family kDistilBert;
extern const Family kMpnet;
extern const Family kAlbert;
extern const Family kElectra;
extern const Family kModernBert;
extern const Family kNomicBert;
extern const Family kGte;

/// The parts of BERT that its relatives use: a layer, the whole, and the encoder's names.
EncoderLayerOptions bert_layer(const Json& config);
TokenEncoderOptions bert_options(const Json& config);

/// A stack of such layers, their number under the key `layers`, after embeddings with a norm;
/// positions are from a table, or the layers' own.
TokenEncoderOptions learned_positions(const Json& config, const EncoderLayerOptions& layer,
                                      std::string_view layers);
TokenEncoderOptions rotary_positions(const Json& config, const EncoderLayerOptions& layer,
                                     std::string_view layers);

inline constexpr WeightName kBertEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight"},
    {"embeddings.token_type_embeddings.weight", "embeddings.token_type_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"embeddings.projection.*", "embeddings_project.*"},  // ELECTRA's
    {"encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.self.{query,key,value}.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.output.dense.*"},
    {"encoder.layers.#.norm1.*", "encoder.layer.#.attention.output.LayerNorm.*"},
    {"encoder.layers.#.linear1.*", "encoder.layer.#.intermediate.dense.*"},
    {"encoder.layers.#.linear2.*", "encoder.layer.#.output.dense.*"},
    {"encoder.layers.#.norm2.*", "encoder.layer.#.output.LayerNorm.*"},
};

/// RoBERTa's heads; MPNet's have the same names.
inline constexpr WeightName kRobertaHeads[] = {
    {"pooler.dense.*", "pooler.dense.*"},
    {"head.dense.*", "classifier.dense.*"},
    {"classifier.*", "classifier.out_proj.*"},
    {"classifier.*", "classifier.*"},        // of tokens
    {"token_classifier.*", "classifier.*"},  // only of tokens
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.predictions.transform.dense.*", "lm_head.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "lm_head.layer_norm.*"},
    {"cls.predictions.bias", "lm_head.bias"},
    {"cls.predictions.bias", "lm_head.decoder.bias"},
    {"cls.predictions.decoder.weight", "lm_head.decoder.weight"},
    {"embeddings.word_embeddings.weight", "lm_head.decoder.weight"},  // tied, stored once
};

}  // namespace tessera::models::families
