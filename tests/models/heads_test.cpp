// Poolings, classifiers and the masked language model, by their formulas.
#include "tessera/models/classifier.h"
#include "tessera/models/masked_lm.h"
#include "tessera/models/models.h"
#include "tessera/models/pooling.h"
#include "tessera/models/text/masked_tokens.h"
#include "tessera/nn/module.h"
#include "tests/support/gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

Array naive_pool(const Pooling& pooling, const Tensor& x, const std::vector<index_t>& lengths) {
  const Array a = array(x);
  return build({a.shape[0], a.shape[2]}, [&](const Dims& at) {
    const index_t length = lengths[static_cast<std::size_t>(at[0])];
    double total = 0, weighted = 0, weights = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (index_t t = 0; t < length; ++t) {
      total += a.at({at[0], t, at[1]});
      weighted += static_cast<double>(t + 1) * a.at({at[0], t, at[1]});
      weights += static_cast<double>(t + 1);
      largest = std::max(largest, a.at({at[0], t, at[1]}));
    }
    if (pooling.name == "cls") return a.at({at[0], 0, at[1]});
    if (pooling.name == "lasttoken") return a.at({at[0], length - 1, at[1]});
    if (pooling.name == "weightedmean") return weighted / weights;
    if (pooling.name == "mean_sqrt_len_tokens") {
      return total / std::sqrt(static_cast<double>(length));
    }
    return pooling.name == "max" ? largest : total / static_cast<double>(length);
  });
}

TEST(Pooling, FollowsItsDefinition) {
  for (const Pooling& pooling : Pooling::all()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      const Tensor x = random_tensor({3, 7, 5}, dtype, 2) - 3;  // zeros of padding would be larger
      EXPECT_TRUE(near(pooling(x, {.lengths = tensor({7, 1, 4})}),
                       naive_pool(pooling, x, {7, 1, 4}), 0, tolerance(dtype)));
      EXPECT_TRUE(near(pooling(x), naive_pool(pooling, x, {7, 7, 7}), 0, tolerance(dtype)));
    }
  }
}

TEST(Pooling, NeverLooksAtPadding) {
  for (const Pooling& pooling : Pooling::all()) {
    const Tensor x = random_tensor({1, 40, 5}, kFloat32, 2);
    Tensor padded = full({1, 60, 5}, std::nan(""));
    padded.slice(1, 0, 40).copy_from(x);
    EXPECT_TRUE(same_bits(pooling(padded, {.lengths = tensor({40})}), pooling(x)));
    EXPECT_TRUE(same_bits(pooling(padded, {.lengths = tensor({40})}),
                          pooling(x, {.lengths = tensor({40})})));
  }
}

TEST(Pooling, WeightedMeanCountsFromTheFirstPosition) {
  const Tensor x = tensor({{{3.0}, {7.0}}});
  const Tensor y = Pooling::kWeightedMean(x, {.positions = tensor({4, 5})});
  EXPECT_FLOAT_EQ(y.item<float>(), (5 * 3 + 6 * 7) / 11.0f);
}

TEST(Pooling, Gradients) {
  for (const Pooling& pooling : Pooling::all()) {
    EXPECT_TRUE(gradcheck(
        [&](const Tensors& x) {
          return pooling(x[0], {.lengths = tensor({4, 2})});
        },
        {values({2, 4, 3}, 1)}));
  }
}

TEST(Pooling, Errors) {
  const auto refuses = [](const std::vector<std::string>& parts, const Pooling& pooling,
                          const Tokens& tokens, const Tensor& x = zeros({2, 3, 4})) {
    EXPECT_TRUE(throws("pool", parts, [&] { pooling(x, tokens); }));
  };
  refuses({"(B, T, D)", "(3, 4)"}, Pooling::kMean, {}, zeros({3, 4}));
  refuses({"(3,)", "(2,)"}, Pooling::kMean, {.lengths = tensor({1, 2, 3})});
  refuses({"lengths must be from 1 to 3", "got 0"}, Pooling::kMax, {.lengths = tensor({1, 0})});
  refuses({"lengths must be from 1 to 3", "got 4"}, Pooling::kMean, {.lengths = tensor({1, 4})});
  refuses({"(2, 5)", "(2, 3)"}, Pooling::kMean, {.ids = zeros({2, 5}, kInt64)});
  refuses({"must have a function"}, Pooling{}, {});
  refuses({"at least 1 token", "(2, 0, 4)"}, Pooling::kCls, {}, zeros({2, 0, 4}));
  EXPECT_TRUE(throws("real_tokens", {"lengths must be int64"}, [] { real_tokens(ones({2}), 3); }));
  EXPECT_TRUE(throws("real_tokens", {"count must be at least 0", "got -1"},
                     [] { real_tokens(ones({2}, kInt64), -1); }));
  EXPECT_TRUE(throws("op", {"batch must be (B, T)", "got (2,)"},
                     [] { check_tokens("op", {.lengths = ones({2}, kInt64)}, {2}); }));
  EXPECT_TRUE(throws("Pooling", {"median", "mean, cls, max", "lasttoken"},
                     [] { Pooling::named("median"); }));
}

TEST(Pooling, HasNames) {
  for (const Pooling& pooling : Pooling::all()) {
    EXPECT_EQ(Pooling::named(pooling.name).function, pooling.function);
  }
  EXPECT_EQ(Pooling::named("max").function, Pooling::kMax.function);
}

// A pooling defined by a user, which reads the ids: the mean of the tokens that are not number 4.
TEST(Pooling, MayBeOnesOwn) {
  constexpr Pooling kOwn = {"own", [](const Tensor& x, const Tokens& tokens) {
                              const Tensor used = ne(tokens.ids, 4).unsqueeze(-1).to(x.dtype());
                              return sum(x * used, {1}) / sum(used, {1});
                            }};
  const auto model = make_model<SequenceClassifier>(
      SequenceClassifierOptions{.token_encoder = tiny_tokens(), .num_labels = 3, .pooling = kOwn});
  const Tensor ids = tensor({{4, 5, 6}, {7, 4, 8}});
  const Tensor x = model.token_encoder(ids);
  const Tensor want =
      concat({(x.slice(0, 0, 1).slice(1, 1, 3)), x.slice(0, 1, 2).slice(1, 0, 3, 2)});
  EXPECT_TRUE(allclose(model(ids), model.classifier(mean(want, {1})), 1e-5, 1e-6));
}

SequenceClassifier make(const Pooling& pooling) {
  return make_model<SequenceClassifier>(SequenceClassifierOptions{
      .token_encoder = tiny_tokens(), .num_labels = 4, .pooling = pooling});
}

const Tensor kTokens = tensor({{4, 5, 6, 7, 10}, {8, 9, 4, 0, 0}});
const Tensor kLengths = tensor({5, 3});

TEST(SequenceClassifier, IsItsPartsInARow) {
  for (const Pooling& pooling : Pooling::all()) {
    const SequenceClassifier model = make(pooling);
    const Tensor scores = model({kTokens, kLengths});
    EXPECT_EQ(scores.shape(), (Shape{2, 4}));
    const Tensor pooled = pooling(model.token_encoder({kTokens, kLengths}), {kTokens, kLengths});
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
        .token_encoder = tiny_tokens(), .num_labels = 3, .pooling = Pooling::kCls, .head = head});
    auto tokens = make_model<TokenClassifier>(
        TokenClassifierOptions{.token_encoder = tiny_tokens(), .num_labels = 2, .head = head});
    nn::convert(texts, kFloat64);
    nn::convert(tokens, kFloat64);
    const nn::StateDict state = nn::state_dict(texts);
    EXPECT_EQ(state.contains("head.dense.bias"), head.bias);
    EXPECT_EQ(state.contains("head.norm.weight"), head.norm);
    const Tensor first = texts.token_encoder({kTokens, kLengths}).select(1, 0);
    const Tensor classes = naive_linear(naive_head(head, state, first),
                                        state.at("classifier.weight"), state.at("classifier.bias"));
    EXPECT_TRUE(near(texts({kTokens, kLengths}), array(classes), 0, 1e-11));

    const nn::StateDict others = nn::state_dict(tokens);
    const Tensor each = naive_head(head, others, tokens.token_encoder({kTokens, kLengths}));
    const Tensor scores =
        naive_linear(each, others.at("classifier.weight"), others.at("classifier.bias"));
    EXPECT_TRUE(
        near(tokens({kTokens, kLengths}), array(without_padding(scores, {5, 3})), 0, 1e-11));
  }
}

constexpr const char* kEmbedding = "embeddings.word_embeddings.weight";
const Tensor kMaskedTokens = tensor({{4, 5, 3, 7, 10}, {8, 3, 4, 0, 0}});
const Tensor kMaskedLengths = tensor({5, 3});
const Tensor kLabels = tensor({{-100, -100, 6, -100, 10}, {-100, 9, -100, -100, -100}});

MaskedLM make() {
  return make_model<MaskedLM>(MaskedLMOptions{.token_encoder = tiny_tokens()});
}

TEST(MaskedLM, FollowsItsFormula) {
  const MaskedLMOptions bert = {.token_encoder = tiny_tokens()};
  const MaskedLMOptions other = {.token_encoder = tiny_tokens(),
                                 .activation = nn::Activation::kRelu,
                                 .dense_bias = false,
                                 .bias = false,
                                 .tied = false};
  for (const MaskedLMOptions& options : {bert, other}) {
    auto model = make_model<MaskedLM>(options);
    nn::convert(model, kFloat64);
    if (options.bias) model.bias.copy_from(random_tensor({11}, kFloat64, 4));
    if (!options.tied) model.decoder->copy_from(random_tensor({11, 6}, kFloat64, 5));
    const nn::StateDict state = nn::state_dict(model);
    const std::string dense = "cls.predictions.transform.dense.";
    const std::string norm = "cls.predictions.transform.LayerNorm.";
    EXPECT_EQ(state.contains("cls.predictions.bias"), options.bias);
    EXPECT_EQ(state.contains(dense + "bias"), options.dense_bias);
    const Tensor sums = naive_linear(model.token_encoder({kMaskedTokens, kMaskedLengths}),
                                     state.at(dense + "weight"),
                                     options.dense_bias ? state.at(dense + "bias") : Tensor());
    const Array active =
        map(array(sums), [&](double x) { return naive_activation(options.activation, x); });
    const Tensor h =
        naive_layer_norm(wide(active), state.at(norm + "weight"), state.at(norm + "bias"), 1e-5);
    const Tensor want =
        naive_linear(h, state.at(options.tied ? kEmbedding : "cls.predictions.decoder.weight"),
                     options.bias ? state.at("cls.predictions.bias") : Tensor());
    EXPECT_TRUE(near(model({kMaskedTokens, kMaskedLengths}), array(without_padding(want, {5, 3})),
                     0, 1e-11));
  }
}

TEST(MaskedLM, PrepackedKeepsTheEmbeddingThatIsTiedToTheOutput) {
  TokenEncoderOptions tokens = tiny_tokens();
  tokens.encoder.order = {0, 1, 0};  // shared layers, as in ALBERT
  tokens.vocab_size = 70;            // int8 rounds matrices of 64 rows or more
  for (bool tied : {true, false}) {
    auto model = make_model<MaskedLM>(MaskedLMOptions{.token_encoder = tokens, .tied = tied});
    const std::string summary = nn::summary(model);
    const Tensor before = model({kMaskedTokens, kMaskedLengths});
    nn::prepack(model);
    EXPECT_TRUE(same_bits(model({kMaskedTokens, kMaskedLengths}), before));
    EXPECT_EQ(nn::summary(model), summary);
    EXPECT_FALSE(model.token_encoder.embeddings.word.weight.is_prepacked());

    nn::prepack(model, {WeightFormat::kInt8});
    const Tensor x = random_tensor({2, 6}, kFloat32, 3);
    nn::Linear output({.in_features = 6, .out_features = 70});
    output.weight = model.token_encoder.embeddings.word.weight;
    output.bias = model.bias;
    nn::prepack(output, {WeightFormat::kInt8});
    const MaskedLM copy = nn::clone(model);
    for (const MaskedLM* prepacked : {&copy, static_cast<const MaskedLM*>(&model)}) {
      EXPECT_TRUE(same_bits(prepacked->logits(x), output(prepacked->transform.value()(x))));
    }
    EXPECT_EQ(nn::summary(model), summary);
    {
      Tape tape;
      nn::set_requires_grad(model.token_encoder.embeddings);
      EXPECT_TRUE(throws("linear", {"prepacked"}, [&] { model({kMaskedTokens, kMaskedLengths}); }));
    }
    model.token_encoder.embeddings.word.weight->detach().fill(0);
    EXPECT_EQ(same_bits(model.logits(x), copy.logits(x)), !tied) << "what it reads has changed";
  }
}

TEST(MaskedLM, ChosenPlacesHaveTheBitsOfAll) {
  const MaskedLM model = make();
  const Tensor all = model({kMaskedTokens, kMaskedLengths});
  EXPECT_EQ(all.shape(), (Shape{2, 5, 11}));
  const Tensor places = text::places_of(kLabels);
  EXPECT_TRUE(array_equal(places, tensor({2, 4, 6})));
  EXPECT_TRUE(same_bits(model({kMaskedTokens, kMaskedLengths}, places),
                        index_select(all.flatten(0, 1), 0, places)));
  EXPECT_EQ(text::places_of(full({2, 2}, -100, kInt64)).shape(), (Shape{0}));
}

}  // namespace
}  // namespace tessera::models
