// Options of models: which are invalid, and which parameters the others request from their source.
#include "tessera/models/models.h"
#include "tessera/nn/parameter_source.h"
#include "tests/support/asked_parameters.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A change of one option, and the text of its error.
template <class Options>
struct Case {
  std::function<void(Options&)> change;
  const char* text;
};

TEST(Options, OfAnEncoderLayer) {
  using O = EncoderLayerOptions;
  const std::vector<Case<O>> cases = {
      {[](O& o) { o.d_model = 0; }, "d_model must be at least 1, got 0"},
      {[](O& o) { o.nhead = 0; }, "nhead must be at least 1, got 0"},
      {[](O& o) { o.nhead = 3; }, "nhead must divide d_model 4, got 3"},
      {[](O& o) { o.dim_feedforward = -1; }, "dim_feedforward must be at least 1, got -1"},
      {[](O& o) { o.dropout = 2; }, "dropout must be in [0, 1], got 2"},
      {[](O& o) { o.layer_norm_eps = kNan; },
       "layer_norm_eps must be finite and at least 0, got nan"},
      {[](O& o) { o.activation = static_cast<nn::Activation>(77); },
       "activation must be one of its enum's values, got 77"},
      {[](O& o) { o.norm = static_cast<nn::NormKind>(2); },
       "norm must be one of its enum's values, got 2"},
      {[](O& o) { o.norm1 = false; }, "norm1 must be true without norm_first, got false"},
      {[](O& o) { o.attention_dropout = 2; }, "attention_dropout must be in [0, 1], got"},
      {[](O& o) { o.feed_forward_dropout = kNan; }, "feed_forward_dropout must be in [0, 1], got"},
      {[](O& o) { o.dropout1 = -1; }, "dropout1 must be in [0, 1], got"},
      {[](O& o) { o.dropout2 = 2; }, "dropout2 must be in [0, 1], got"},
  };
  for (const auto& [change, text] : cases) {
    EncoderLayerOptions options = {.d_model = 4, .nhead = 2, .dim_feedforward = 8};
    EncoderLayer{options};
    change(options);
    EXPECT_TRUE(throws("EncoderLayer", {text}, [&] { EncoderLayer{options}; }));
  }
  EncoderLayerOptions scaled = {.d_model = 4, .nhead = 2};
  scaled.scale = kNan;
  EXPECT_TRUE(throws("MultiHeadAttention", {"scale must be finite, got nan"},
                     [&] { EncoderLayer{scaled}; }));
}

TEST(Options, OfAnEncoder) {
  const EncoderLayerOptions four = {.d_model = 4, .nhead = 2};
  EncoderLayerOptions tokens_first = four;
  tokens_first.batch_first = false;
  EXPECT_EQ(repeat_layer(four, 3).size(), 3U);
  EXPECT_TRUE(repeat_layer(four, 0).empty());
  EXPECT_TRUE(throws("repeat_layer", {"-1"}, [&] { repeat_layer(four, -1); }));
  EXPECT_THROW(repeat_layer(four, index_t{1} << 60), OutOfMemory);
  EXPECT_TRUE(Encoder({.layers = {}}).layers.empty());
  const auto refuses = [](const std::string& text, const EncoderOptions& options) {
    EXPECT_TRUE(throws("Encoder", {text}, [&] { Encoder{options}; }));
  };
  refuses("all layers must have d_model 4, got 6", {.layers = {four, {.d_model = 6, .nhead = 2}}});
  refuses("all layers must have d_model 6, got 4", {.layers = {four}, .d_model = 6});
  refuses("same batch_first", {.layers = {four, tokens_first}});
  refuses("d_model must be given", {.layers = {}, .final_norm = true});
  refuses("d_model must be at least 1, got -5", {.layers = {}, .d_model = -5});
}

TEST(Options, OfATokenEncoder) {
  using O = TokenEncoderOptions;
  const std::vector<Case<O>> cases = {
      {[](O& o) { o.vocab_size = 0; }, "vocab_size must be at least 1, got 0"},
      {[](O& o) { o.type_vocab_size = -1; }, "type_vocab_size must be at least 0, got -1"},
      {[](O& o) { o.max_positions = -1; }, "max_positions must be at least 1, got -1"},
      {[](O& o) { o.encoder = {.layers = {}, .d_model = 0}; }, "d_model must be at least 1, got 0"},
      {[](O& o) { o.dropout = -1; }, "dropout must be in [0, 1], got -1"},
      {[](O& o) {
         o.positions = Positions::kLearned;
         o.pad_token_id = o.vocab_size;
       },
       "pad_token_id must be from 0 to"},
      {[](O& o) { o.positions = static_cast<Positions>(9); },
       "positions must be one of its enum's values, got 9"},
  };
  for (const auto& [change, text] : cases) {
    TokenEncoderOptions options = tiny_tokens();
    change(options);
    EXPECT_TRUE(throws("TokenEncoder", {text}, [&] { TokenEncoder{options}; }));
    EXPECT_TRUE(throws("TokenEncoder", {text}, [&] { MaskedLM({.token_encoder = options}); }));
  }
}

TEST(Options, OfHeads) {
  const TokenEncoderOptions tokens = tiny_tokens();
  const auto none = static_cast<nn::Activation>(77);
  const std::string activation = "activation must be one of its enum's values, got 77";
  struct Case {
    const char* op;
    std::string text;
    std::function<void()> make;
  };
  const std::vector<Case> cases = {
      {"PredictionHead", activation, [&] { PredictionHead({.activation = none}, tokens.encoder); }},
      {"MaskedLM", activation, [&] { MaskedLM({.token_encoder = tokens, .activation = none}); }},
      {"SequenceClassifier", "num_labels must be at least 1, got 0",
       [&] { SequenceClassifier({.token_encoder = tokens, .num_labels = 0}); }},
      {"SequenceClassifier", "num_labels must be at least 1, got -2",
       [&] { SequenceClassifier({.token_encoder = tokens, .num_labels = -2}); }},
      {"TokenClassifier", "num_labels must be at least 1, got 0",
       [&] { TokenClassifier({.token_encoder = tokens, .num_labels = 0}); }},
      {"SequenceClassifier", "dropout",
       [&] { SequenceClassifier({.token_encoder = tokens, .num_labels = 2, .dropout = kNan}); }}};
  for (const Case& each : cases) EXPECT_TRUE(throws(each.op, {each.text}, each.make));
}

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
  options.type_vocab_size = 2;
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
      SequenceClassifierOptions{.token_encoder = tiny_tokens(), .num_labels = 2, .head = head});
  EXPECT_TRUE(of_sequences.contains("head.norm.weight"));
  const auto of_tokens = expect_asks_for_what_it_names<TokenClassifier>(
      TokenClassifierOptions{.token_encoder = with_all(), .num_labels = 2, .head = head});
  EXPECT_TRUE(of_tokens.contains("classifier.weight"));
  const auto tied =
      expect_asks_for_what_it_names<MaskedLM>(MaskedLMOptions{.token_encoder = with_all()});
  EXPECT_TRUE(tied.contains("cls.predictions.transform.LayerNorm.weight"));
  EXPECT_FALSE(tied.contains("cls.predictions.decoder.weight")) << "one parameter";
  const auto untied = expect_asks_for_what_it_names<MaskedLM>(
      MaskedLMOptions{.token_encoder = tiny_tokens(), .tied = false});
  EXPECT_TRUE(untied.contains("cls.predictions.decoder.weight"));
}

}  // namespace
}  // namespace tessera::models
