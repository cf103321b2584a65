// RoBERTa, XLM-R and CamemBERT: BERT with positions that count from the padding token's id.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace roberta {
namespace {

TokenEncoderOptions options(const Json& config) {
  TokenEncoderOptions result = bert_options(config);
  result.pad_token_id = config.integer("pad_token_id", {0, config::kMaxVocabulary}, 1);
  result.max_positions = config::positions_after(config, "max_position_embeddings",
                                                 result.max_positions, *result.pad_token_id + 1);
  return result;
}

constexpr Family named(std::string_view name, std::string_view classes) {
  return {.name = name,
          .classes = classes,
          .prefix = "roberta.",
          .encoder_names = kBertEncoder,
          .head_names = kRobertaHeads,
          .options = options};
}

}  // namespace
}  // namespace roberta

constinit const Family kRoberta = roberta::named("roberta", "Roberta");
constinit const Family kXlmRoberta = roberta::named("xlm-roberta", "XLMRoberta");
constinit const Family kCamembert = roberta::named("camembert", "Camembert");

}  // namespace tessera::models::families
