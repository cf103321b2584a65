// EuroBERT: Llama's layers, in which each token reads all others.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace eurobert {
namespace {

constexpr WeightName kHeads[] = {
    {"head.dense.*", "dense.*"},
    {"classifier.*", "classifier.*"},
    {"cls.predictions.bias", "lm_head.bias"},
    {"cls.predictions.decoder.weight", "lm_head.weight"},
    {"embeddings.word_embeddings.weight", "lm_head.weight"},  // tied, stored once
};

TokenEncoderOptions options(const Json& config) {
  return llama_options(config, llama_layer(config, 1e-5));
}

/// The pooling of a text; newer configs call the key classifier_pooling, older ones clf_pooling.
std::string pooling_name(const Json& config) {
  const char* const key = config.has("classifier_pooling") ? "classifier_pooling" : "clf_pooling";
  const std::string name = config.text(key, "late");
  if (name == "bos" || name == "mean" || name == "late") return name;
  config.at(key).fail("must be bos, mean or late, got ", config.at(key).described());
}

Pooling pooling(const Json& config) {
  return pooling_name(config) == "bos" ? Pooling::kCls : Pooling::kMean;
}

/// "late" averages the scores of all tokens. The classifier is affine, so averaging the head's
/// vectors first gives the same scores.
bool head_first(const Json& config) {
  return pooling_name(config) == "late";
}

}  // namespace
}  // namespace eurobert

constinit const Family kEuroBert = {.name = "eurobert",
                                    .classes = "EuroBert",
                                    .prefix = "model.",
                                    .encoder_names = kLlamaEncoder,
                                    .head_names = eurobert::kHeads,
                                    .options = eurobert::options,
                                    .heads = {.sequence = nn::Activation::kGelu,
                                              .plain_masked = true,
                                              .masked_bias_key = "mlp_bias",
                                              .masked_bias = false,
                                              .pooling = eurobert::pooling,
                                              .head_first = eurobert::head_first}};

}  // namespace tessera::models::families
