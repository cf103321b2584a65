// Invalid options of models.
#include "models/models.h"
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
  const EncoderLayerOptions six = {.d_model = 6, .nhead = 2};
  EXPECT_EQ(repeat_layer(four, 3).size(), 3U);
  EXPECT_TRUE(repeat_layer(four, 0).empty());
  EXPECT_TRUE(throws("repeat_layer", {"-1"}, [&] { repeat_layer(four, -1); }));
  EXPECT_THROW(repeat_layer(four, index_t{1} << 60), OutOfMemory);
  EXPECT_TRUE(throws("Encoder", {"all layers must have d_model 4, got 6"}, [&] {
    Encoder({.layers = {four, six}});
  }));
  EXPECT_TRUE(throws("Encoder", {"all layers must have d_model 6, got 4"},
                     [&] { Encoder({.layers = {four}, .d_model = 6}); }));
  EncoderLayerOptions tokens_first = four;
  tokens_first.batch_first = false;
  EXPECT_TRUE(throws("Encoder", {"same batch_first"}, [&] {
    Encoder({.layers = {four, tokens_first}});
  }));
  EXPECT_TRUE(throws("Encoder", {"d_model must be given"},
                     [] { Encoder({.layers = {}, .final_norm = true}); }));
  EXPECT_TRUE(Encoder({.layers = {}}).layers.empty());
  EXPECT_TRUE(throws("Encoder", {"d_model must be at least 1, got -5"},
                     [] { Encoder({.layers = {}, .d_model = -5}); }));
}

TEST(Options, OfATokenEncoder) {
  using O = TokenEncoderOptions;
  const std::vector<Case<O>> cases = {
      {[](O& o) { o.vocabulary_size = 0; }, "vocabulary_size must be at least 1, got 0"},
      {[](O& o) { o.token_types = -1; }, "token_types must be at least 0, got -1"},
      {[](O& o) { o.max_tokens = -1; }, "max_tokens must be at least 1, got -1"},
      {[](O& o) { o.encoder = {.layers = {}, .d_model = 0}; }, "d_model must be at least 1, got 0"},
      {[](O& o) { o.dropout = -1; }, "dropout must be in [0, 1], got -1"},
      {[](O& o) {
         o.positions = Positions::kLearned;
         o.padding_id = o.vocabulary_size;
       },
       "padding_id must be from 0 to"},
      {[](O& o) { o.positions = static_cast<Positions>(9); },
       "positions must be one of its enum's values, got 9"},
  };
  for (const auto& [change, text] : cases) {
    TokenEncoderOptions options = tiny_tokens();
    change(options);
    EXPECT_TRUE(throws("TokenEncoder", {text}, [&] { TokenEncoder{options}; }));
    EXPECT_TRUE(throws("TokenEncoder", {text}, [&] { MaskedLm({.tokens = options}); }));
  }
}

TEST(Options, OfHeads) {
  const TokenEncoderOptions tokens = tiny_tokens();
  const auto none = static_cast<nn::Activation>(77);
  const char* const error = "activation must be one of its enum's values, got 77";
  EXPECT_TRUE(throws("PredictionHead", {error},
                     [&] { PredictionHead({.activation = none}, tokens.encoder); }));
  EXPECT_TRUE(
      throws("MaskedLm", {error}, [&] { MaskedLm({.tokens = tokens, .activation = none}); }));
}

TEST(Options, OfClassifiers) {
  const TokenEncoderOptions tokens = tiny_tokens();
  for (const index_t none : {0, -2}) {
    const std::string error = str_cat("classes must be at least 1, got ", none);
    EXPECT_TRUE(throws("SequenceClassifier", {error},
                       [&] { SequenceClassifier({.tokens = tokens, .classes = none}); }));
    EXPECT_TRUE(throws("TokenClassifier", {error},
                       [&] { TokenClassifier({.tokens = tokens, .classes = none}); }));
  }
  EXPECT_TRUE(throws("SequenceClassifier", {"dropout"}, [&] {
    SequenceClassifier({.tokens = tokens, .classes = 2, .dropout = kNan});
  }));
}

}  // namespace
}  // namespace tessera::models
