// ELECTRA: BERT whose embeddings may be narrower. Its discriminator finds replaced tokens.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace electra {
namespace {

constexpr WeightName kHeads[] = {
    {"head.dense.*", "classifier.dense.*"},
    {"classifier.*", "classifier.out_proj.*"},
    {"classifier.*", "classifier.*"},        // of tokens
    {"token_classifier.*", "classifier.*"},  // only of tokens
    {"qa_outputs.*", "qa_outputs.*"},
    {"discriminator_predictions.dense.*", "discriminator_predictions.dense.*"},
    {"discriminator_predictions.dense_prediction.*",
     "discriminator_predictions.dense_prediction.*"},
    {"cls.predictions.transform.dense.*", "generator_predictions.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "generator_predictions.LayerNorm.*"},
    {"cls.predictions.bias", "generator_lm_head.bias"},
    {"cls.predictions.decoder.weight", "generator_lm_head.weight"},
    {"embeddings.word_embeddings.weight", "generator_lm_head.weight"},  // tied, stored once
};

TokenEncoderOptions options(const Json& config) {
  TokenEncoderOptions result = bert_options(config);
  const index_t width = config::width(config, "embedding_size", 128);
  if (width != result.encoder.width()) result.embedding_width = width;
  return result;
}

}  // namespace
}  // namespace electra

constinit const Family kElectra = {.name = "electra",
                                   .classes = "Electra",
                                   .prefix = "electra.",
                                   .encoder_names = kBertEncoder,
                                   .head_names = electra::kHeads,
                                   .options = electra::options,
                                   .heads = {.sequence = nn::Activation::kGelu}};

}  // namespace tessera::models::families
