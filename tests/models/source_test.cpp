// Every model requests the parameters that it names from its source.
#include "nn/parameter_source.h"

#include "models/models.h"
#include "tests/support/asked_parameters.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

/// With every part that has parameters.
TokenEncoderOptions with_all() {
  TokenEncoderOptions options = tiny_tokens();
  EncoderLayerOptions layer = options.encoder.layers.front();
  layer.gated = true;
  layer.relative_position.emplace();
  options.encoder = {.layers = repeat_layer(layer, 2), .final_norm = true};
  options.encoder.relative_position.emplace();
  options.positions = Positions::kLearned;
  options.embedding_width = 2;
  options.token_types = 2;
  options.embedding_norm = true;
  return options;
}

TEST(ParameterSource, ModelsAskForWhatTheyName) {
  const auto plain = expect_asks_for_what_it_names<TokenEncoder>(tiny_tokens());
  EXPECT_TRUE(plain.contains("encoder.layers.0.linear1.bias"));
  const auto all = expect_asks_for_what_it_names<TokenEncoder>(with_all());
  for (const char* name :
       {"embeddings.word_embeddings.weight", "embeddings.token_type_embeddings.weight",
        "embeddings.position_embeddings.weight", "embeddings.LayerNorm.bias",
        "embeddings.projection.weight", "encoder.layers.1.self_attn.out_proj.bias",
        "encoder.relative_attention_bias.weight", "encoder.layers.1.relative_attention_bias.weight",
        "encoder.norm.weight"}) {
    EXPECT_TRUE(all.contains(name)) << name;
  }
  const PredictionHeadOptions head = {.norm = true};
  const auto of_sequences = expect_asks_for_what_it_names<SequenceClassifier>(
      SequenceClassifierOptions{.tokens = tiny_tokens(), .classes = 2, .head = head});
  EXPECT_TRUE(of_sequences.contains("head.norm.weight"));
  const auto of_tokens = expect_asks_for_what_it_names<TokenClassifier>(
      TokenClassifierOptions{.tokens = with_all(), .classes = 2, .head = head});
  EXPECT_TRUE(of_tokens.contains("classifier.weight"));
  const auto tied = expect_asks_for_what_it_names<MaskedLm>(MaskedLmOptions{.tokens = with_all()});
  EXPECT_TRUE(tied.contains("cls.predictions.transform.LayerNorm.weight"));
  const auto untied = expect_asks_for_what_it_names<MaskedLm>(
      MaskedLmOptions{.tokens = tiny_tokens(), .tied = false});
  EXPECT_TRUE(untied.contains("cls.predictions.decoder.weight"));
}

}  // namespace
}  // namespace tessera::models
