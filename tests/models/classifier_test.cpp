#include "models/classifier.h"

#include "nn/module.h"
#include "tests/support/gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

SequenceClassifier make(const Pooling& pooling) {
  return make_model<SequenceClassifier>(
      SequenceClassifierOptions{.tokens = tiny_tokens(), .classes = 4, .pooling = pooling});
}

TokenClassifier make_tokens() {
  return make_model<TokenClassifier>(TokenClassifierOptions{.tokens = tiny_tokens(), .classes = 4});
}

const Tensor kTokens = tensor({{4, 5, 6, 7, 10}, {8, 9, 4, 0, 0}});
const Tensor kLengths = tensor({5, 3});

TEST(SequenceClassifier, IsItsPartsInARow) {
  for (const Pooling& pooling : Pooling::all()) {
    const SequenceClassifier model = make(pooling);
    const Tensor scores = model({kTokens, kLengths});
    EXPECT_EQ(scores.shape(), (Shape{2, 4}));
    const Tensor pooled = pooling(model.encode({kTokens, kLengths}), {kTokens, kLengths});
    EXPECT_TRUE(same_bits(scores, model.classifier(pooled)));
  }
}

TEST(SequenceClassifier, PaddingAndBatchDoNotChangeTheBits) {
  for (const Pooling& pooling : Pooling::all()) {
    const SequenceClassifier model = make(pooling);
    const Tensor whole = model({kTokens, kLengths});
    EXPECT_TRUE(same_bits(whole.slice(0, 0, 1), model(kTokens.slice(0, 0, 1))));
    EXPECT_TRUE(same_bits(whole.slice(0, 1, 2), model(kTokens.slice(0, 1, 2).slice(1, 0, 3))));
  }
}

TEST(SequenceClassifier, DropsInTraining) {
  SequenceClassifier model = make(Pooling::kMean);
  const Tensor still = model({kTokens, kLengths});
  model.dropout = nn::Dropout(0.5);
  EXPECT_FALSE(same_bits(model({kTokens, kLengths}), still));
}

TEST(TokenClassifier, IsItsPartsInARow) {
  const TokenClassifier model = make_tokens();
  const Tensor scores = model({kTokens, kLengths});
  EXPECT_EQ(scores.shape(), (Shape{2, 5, 4}));
  EXPECT_TRUE(same_bits(
      scores, without_padding(model.classifier(model.encode({kTokens, kLengths})), {5, 3})));
}

const std::vector<PredictionHeadOptions> kHeads = {
    {},
    {.activation = nn::Activation::kRelu},
    {.activation = nn::Activation::kGelu, .bias = false, .norm = true},
};

/// The result of a head with these options, by the definition.
Tensor naive_head(const PredictionHeadOptions& options, const nn::StateDict& state,
                  const Tensor& x) {
  const Tensor bias = options.bias ? state.at("head.dense.bias") : Tensor{};
  const Array h =
      map(array(naive_linear(x, state.at("head.dense.weight"), bias)), [&](double value) {
        return options.activation ? naive_activation(*options.activation, value) : std::tanh(value);
      });
  if (!options.norm) return wide(h);
  return naive_layer_norm(wide(h), state.at("head.norm.weight"), state.at("head.norm.bias"), 1e-5);
}

TEST(Classifiers, HeadsFollowTheirFormula) {
  for (const PredictionHeadOptions& head : kHeads) {
    auto texts = make_model<SequenceClassifier>(SequenceClassifierOptions{
        .tokens = tiny_tokens(), .classes = 3, .pooling = Pooling::kCls, .head = head});
    auto tokens = make_model<TokenClassifier>(
        TokenClassifierOptions{.tokens = tiny_tokens(), .classes = 2, .head = head});
    nn::convert(texts, kFloat64);
    nn::convert(tokens, kFloat64);
    const nn::StateDict state = nn::state_dict(texts);
    EXPECT_EQ(state.contains("head.dense.bias"), head.bias);
    EXPECT_EQ(state.contains("head.norm.weight"), head.norm);
    const Tensor first = texts.encode({kTokens, kLengths}).select(1, 0);
    const Tensor classes = naive_linear(naive_head(head, state, first),
                                        state.at("classifier.weight"), state.at("classifier.bias"));
    EXPECT_TRUE(near(texts({kTokens, kLengths}), array(classes), 0, 1e-11));

    const nn::StateDict others = nn::state_dict(tokens);
    const Tensor each = naive_head(head, others, tokens.encode({kTokens, kLengths}));
    const Tensor scores =
        naive_linear(each, others.at("classifier.weight"), others.at("classifier.bias"));
    EXPECT_TRUE(
        near(tokens({kTokens, kLengths}), array(without_padding(scores, {5, 3})), 0, 1e-11));
  }
}

}  // namespace
}  // namespace tessera::models
