// Gradients of the models: each parameter's compared with central differences, for all parameters.
#include "tessera/models/models.h"
#include "tessera/models/text/masked_tokens.h"
#include "tests/support/model_gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

using OptionalHead = std::optional<PredictionHeadOptions>;

SequenceClassifier make_classifier(const Pooling& pooling,
                                   Positions positions = Positions::kLearned,
                                   const OptionalHead& head = {}) {
  return make_model<SequenceClassifier>(SequenceClassifierOptions{
      .token_encoder = tiny_tokens(positions), .num_labels = 4, .pooling = pooling, .head = head});
}

TokenClassifier make_token_classifier(const OptionalHead& head = {}) {
  return make_model<TokenClassifier>(
      TokenClassifierOptions{.token_encoder = tiny_tokens(), .num_labels = 4, .head = head});
}

MaskedLM make_masked_lm(Positions positions = Positions::kLearned) {
  return make_model<MaskedLM>(MaskedLMOptions{.token_encoder = tiny_tokens(positions)});
}

constexpr Positions kPositions[] = {Positions::kSinusoidal, Positions::kLearned, Positions::kNone};
const Tokens kGradientBatch = {tensor({{4, 5, 3, 7, 10}, {8, 3, 4, 0, 0}}), tensor({5, 3})};
const Tensor kHidden = tensor({{-100, -100, 6, -100, 10}, {-100, 9, -100, -100, -100}});

Tensor masked_loss(const MaskedLM& model) {
  const Tensor places = text::places_of(kHidden);
  return nn::cross_entropy(model(kGradientBatch, places),
                           index_select(kHidden.flatten(), 0, places));
}

TEST(TokenEncoder, Gradients) {
  for (Positions positions : kPositions) {
    EXPECT_TRUE(
        module_gradients_agree(make_model<TokenEncoder>(tiny_tokens(positions, true)),
                               [](const TokenEncoder& model) { return model(kGradientBatch); }));
  }
}

TEST(TokenEncoder, GradientsOfTypesAndGivenPositions) {
  TokenEncoderOptions options = tiny_tokens(Positions::kLearned, true, 1);
  options.type_vocab_size = 2;
  const auto model = make_model<TokenEncoder>(options);
  const Tensor types = tensor({{0, 0, 1, 1, 1}, {0, 1, 1, 0, 0}});
  const Tensor positions = tensor({{2, 3, 4, 5, 6}, {8, 7, 6, 0, 0}});
  EXPECT_TRUE(module_gradients_agree(model, [&](const TokenEncoder& m) {
    return m({kGradientBatch.ids, kGradientBatch.lengths, types, positions});
  }));
  EXPECT_TRUE(
      module_gradients_agree(model, [&](const TokenEncoder& m) { return m(kGradientBatch); }));
}

Tensor text_loss(const SequenceClassifier& model) {
  return nn::cross_entropy(model(kGradientBatch), tensor({2, 0}));
}
Tensor token_loss(const TokenClassifier& model) {
  return nn::cross_entropy(model(kGradientBatch), tensor({{0, 1, 2, 3, 0}, {1, 1, 2, -100, -100}}));
}

TEST(Models, EveryParameterLearns) {
  const auto check = [](auto model, const auto& loss) {
    for (const bool training : {false, true}) {
      nn::set_training(model, training);
      nn::zero_grad(model);
      EXPECT_TRUE(every_parameter_learns(model, loss));
    }
  };
  for (const Positions positions : kPositions) {
    for (const Pooling& pooling : Pooling::all()) {
      check(make_classifier(pooling, positions), text_loss);
    }
    check(make_masked_lm(positions), masked_loss);
  }
  const PredictionHeadOptions head = {.norm = true};
  check(make_classifier(Pooling::kCls, Positions::kLearned, head), text_loss);
  check(make_token_classifier(), token_loss);
  check(make_token_classifier(head), token_loss);
}

TEST(SequenceClassifier, Gradients) {
  for (const Pooling& pooling : Pooling::all()) {
    EXPECT_TRUE(module_gradients_agree(
        make_classifier(pooling),
        [](const SequenceClassifier& model) { return model(kGradientBatch); }));
  }
}

TEST(TokenClassifier, Gradients) {
  EXPECT_TRUE(module_gradients_agree(
      make_token_classifier(), [](const TokenClassifier& model) { return model(kGradientBatch); }));
}

// The gradient of the shared weight is the sum of those that two separate weights would get.
TEST(MaskedLM, TheTiedWeightGetsBothGradients) {
  MaskedLM model = make_masked_lm();
  nn::convert(model, kFloat64);
  nn::set_requires_grad(model);
  {
    Tape tape;
    tape.backward(masked_loss(model));
  }
  const Tensor both = model.token_encoder.embeddings.word.weight->grad();

  MaskedLM twin = make_masked_lm();
  nn::convert(twin, kFloat64);
  const Tensor table = twin.token_encoder.embeddings.word.weight->clone();
  const Tensor input = table.clone().set_requires_grad();
  const Tensor output = table.clone().set_requires_grad();
  const Tensor places = text::places_of(kHidden);
  Tape tape;
  twin.token_encoder.embeddings.word.weight = input;
  const Tensor x = twin.token_encoder(kGradientBatch);
  const Tensor chosen = index_select(x.flatten(0, 1), 0, places);
  const Tensor h = twin.transform->norm(twin.transform->dense(chosen, nn::Activation::kGelu));
  tape.backward(
      nn::cross_entropy(linear(h, output, twin.bias), index_select(kHidden.flatten(), 0, places)));
  EXPECT_TRUE(near(both,
                   array(wide(map(array(input.grad()), array(output.grad()),
                                  [](double a, double b) { return a + b; }))),
                   1e-12, 1e-14));
}

TEST(MaskedLM, Gradients) {
  EXPECT_TRUE(module_gradients_agree(make_masked_lm(), [](const MaskedLM& model) {
    return model(kGradientBatch, text::places_of(kHidden));
  }));
}

}  // namespace
}  // namespace tessera::models
