// Gradients of the models: each parameter's compared with central differences, for all parameters.
#include "models/models.h"
#include "tests/support/model_gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

SequenceClassifier make_classifier(const Pooling& pooling,
                                   Positions positions = Positions::kLearned) {
  return make_model<SequenceClassifier>(SequenceClassifierOptions{
      .tokens = tiny_tokens(positions), .classes = 4, .pooling = pooling});
}

TokenClassifier make_token_classifier(Positions positions = Positions::kLearned) {
  return make_model<TokenClassifier>(
      TokenClassifierOptions{.tokens = tiny_tokens(positions), .classes = 4});
}

MaskedLm make_masked_lm(Positions positions = Positions::kLearned) {
  return make_model<MaskedLm>(MaskedLmOptions{.tokens = tiny_tokens(positions)});
}

constexpr Positions kPositions[] = {Positions::kSinusoidal, Positions::kLearned, Positions::kNone};
const Tensor kGradientTokens = tensor({{4, 5, 3, 7, 10}, {8, 3, 4, 0, 0}});
const Tensor kGradientLengths = tensor({5, 3});
const Tensor kHidden = tensor({{-100, -100, 6, -100, 10}, {-100, 9, -100, -100, -100}});

Tensor masked_loss(const MaskedLm& model) {
  const Tensor places = text::places_of(kHidden);
  return nn::cross_entropy(model({kGradientTokens, kGradientLengths}, places),
                           index_select(kHidden.flatten(), 0, places));
}

TEST(TokenEncoder, Gradients) {
  for (Positions positions : kPositions) {
    EXPECT_TRUE(module_gradients_agree(make_model<TokenEncoder>(tiny_tokens(positions, true)),
                                       [](const TokenEncoder& model) {
                                         return model({kGradientTokens, kGradientLengths});
                                       }));
  }
}

TEST(TokenEncoder, GradientsOfTypesAndGivenPositions) {
  TokenEncoderOptions options = tiny_tokens(Positions::kLearned, true, 1);
  options.token_types = 2;
  const auto model = make_model<TokenEncoder>(options);
  const Tensor types = tensor({{0, 0, 1, 1, 1}, {0, 1, 1, 0, 0}});
  const Tensor positions = tensor({{2, 3, 4, 5, 6}, {8, 7, 6, 0, 0}});
  EXPECT_TRUE(module_gradients_agree(model, [&](const TokenEncoder& m) {
    return m({kGradientTokens, kGradientLengths, types, positions});
  }));
  EXPECT_TRUE(module_gradients_agree(model, [&](const TokenEncoder& m) {
    return m({kGradientTokens, kGradientLengths});
  }));
}

TEST(SequenceClassifier, EveryParameterLearns) {
  for (Positions positions : kPositions) {
    for (const Pooling& pooling : Pooling::all()) {
      for (bool training : {false, true}) {
        SequenceClassifier model = make_classifier(pooling, positions);
        nn::set_training(model, training);
        EXPECT_TRUE(every_parameter_learns(model, [](const SequenceClassifier& m) {
          return nn::cross_entropy(m({kGradientTokens, kGradientLengths}), tensor({2, 0}));
        }));
      }
    }
  }
}

TEST(SequenceClassifier, Gradients) {
  for (const Pooling& pooling : Pooling::all()) {
    EXPECT_TRUE(
        module_gradients_agree(make_classifier(pooling), [](const SequenceClassifier& model) {
          return model({kGradientTokens, kGradientLengths});
        }));
  }
}

TEST(TokenClassifier, EveryParameterLearns) {
  TokenClassifier model = make_token_classifier();
  EXPECT_TRUE(every_parameter_learns(model, [](const TokenClassifier& m) {
    return nn::cross_entropy(m({kGradientTokens, kGradientLengths}),
                             tensor({{0, 1, 2, 3, 0}, {1, 1, 2, -100, -100}}));
  }));
}

TEST(TokenClassifier, Gradients) {
  EXPECT_TRUE(module_gradients_agree(make_token_classifier(), [](const TokenClassifier& model) {
    return model({kGradientTokens, kGradientLengths});
  }));
}

TEST(Classifiers, EveryParameterOfAHeadLearns) {
  const PredictionHeadOptions head = {.norm = true};
  auto texts = make_model<SequenceClassifier>(SequenceClassifierOptions{
      .tokens = tiny_tokens(), .classes = 4, .pooling = Pooling::kCls, .head = head});
  EXPECT_TRUE(every_parameter_learns(texts, [](const SequenceClassifier& m) {
    return nn::cross_entropy(m({kGradientTokens, kGradientLengths}), tensor({2, 0}));
  }));
  auto tokens = make_model<TokenClassifier>(
      TokenClassifierOptions{.tokens = tiny_tokens(), .classes = 4, .head = head});
  EXPECT_TRUE(every_parameter_learns(tokens, [](const TokenClassifier& m) {
    return nn::cross_entropy(m({kGradientTokens, kGradientLengths}),
                             tensor({{0, 1, 2, 3, 0}, {1, 1, 2, -100, -100}}));
  }));
}

// The gradient of the shared weight is the sum of those that two separate weights would get.
TEST(MaskedLm, TheTiedWeightGetsBothGradients) {
  MaskedLm model = make_masked_lm();
  nn::convert(model, kFloat64);
  nn::set_requires_grad(model);
  {
    Tape tape;
    tape.backward(masked_loss(model));
  }
  const Tensor both = model.encode.embeddings.word.weight->grad();

  MaskedLm twin = make_masked_lm();
  nn::convert(twin, kFloat64);
  const Tensor table = twin.encode.embeddings.word.weight->clone();
  const Tensor input = table.clone().set_requires_grad();
  const Tensor output = table.clone().set_requires_grad();
  const Tensor places = text::places_of(kHidden);
  Tape tape;
  twin.encode.embeddings.word.weight = input;
  const Tensor x = twin.encode({kGradientTokens, kGradientLengths});
  const Tensor chosen = index_select(x.flatten(0, 1), 0, places);
  const Tensor h = twin.transform.norm(twin.transform.dense(chosen, nn::Activation::kGelu));
  tape.backward(
      nn::cross_entropy(linear(h, output, twin.bias), index_select(kHidden.flatten(), 0, places)));
  EXPECT_TRUE(near(both,
                   array(wide(map(array(input.grad()), array(output.grad()),
                                  [](double a, double b) { return a + b; }))),
                   1e-12, 1e-14));
}

TEST(MaskedLm, EveryParameterLearns) {
  for (Positions positions : kPositions) {
    for (bool training : {false, true}) {
      MaskedLm model = make_masked_lm(positions);
      nn::set_training(model, training);
      EXPECT_TRUE(every_parameter_learns(model, masked_loss));
    }
  }
}

TEST(MaskedLm, Gradients) {
  EXPECT_TRUE(module_gradients_agree(make_masked_lm(), [](const MaskedLm& model) {
    return model({kGradientTokens, kGradientLengths}, text::places_of(kHidden));
  }));
}

}  // namespace
}  // namespace tessera::models
