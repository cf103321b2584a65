#include "models/encoder_layer.h"

#include <iterator>

#include "models/models.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

EncoderLayer make(EncoderLayerOptions options) {
  options.dropout = 0;
  EncoderLayer layer(options);
  std::uint64_t seed = 70;
  nn::for_each_parameter(layer, [&](const std::string&, Tensor& parameter) {
    parameter = random_tensor(parameter.shape(), kFloat32, seed++, -0.5, 0.5);
  });
  return layer;
}

using EncoderLayerTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, EncoderLayerTest, each_isa(), isa_name);

TEST_P(EncoderLayerTest, TokensFirstAndUnbatched) {
  const EncoderLayerOptions options = {.d_model = 12, .nhead = 3, .dim_feedforward = 20};
  const EncoderLayer layer = make(options);
  EncoderLayerOptions tokens_first = options;
  tokens_first.batch_first = false;
  const EncoderLayer other = make(tokens_first);
  const Tensor x = random_tensor({2, 5, 12}, kFloat32, 3);
  const Tensor want = layer(x, causal_mask());
  EXPECT_TRUE(same_bits(other(x.transpose(0, 1), causal_mask()), want.transpose(0, 1)));
  EXPECT_TRUE(same_bits(layer(x.select(0, 1), causal_mask()), want.select(0, 1)));
  EXPECT_TRUE(same_bits(other(x.select(0, 1), causal_mask()), want.select(0, 1)));
}

TEST_P(EncoderLayerTest, ReturnsItsAttentionWeights) {
  for (bool norm_first : {false, true}) {
    const EncoderLayer layer =
        make({.d_model = 12, .nhead = 3, .dim_feedforward = 20, .norm_first = norm_first});
    const Tensor x = random_tensor({2, 5, 12}, kFloat32, 3);
    const AttentionResult got = layer.with_weights({x, causal_mask()});
    const Tensor input = norm_first ? (*layer.norm1)(x) : x;
    EXPECT_TRUE(same_bits(got.output, layer(x, causal_mask())));
    const AttentionResult attended =
        layer.self_attn({.query = input, .mask = causal_mask(), .weights = AttentionRequest{}});
    EXPECT_TRUE(same_bits(got.weights, attended.weights));
    EXPECT_EQ(layer.with_weights({x}, {.heads = {{1}}}).weights.shape(), (Shape{2, 1, 5, 5}));
  }
}

TEST(EncoderLayer, ParametersHavePyTorchsNames) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] :
       nn::state_dict(EncoderLayer({.d_model = 6, .nhead = 2, .dim_feedforward = 10}))) {
    shapes.emplace(name, tensor.shape());
  }
  const std::map<std::string, Shape> want = {{"self_attn.in_proj_weight", {18, 6}},
                                             {"self_attn.in_proj_bias", {18}},
                                             {"self_attn.out_proj.weight", {6, 6}},
                                             {"self_attn.out_proj.bias", {6}},
                                             {"linear1.weight", {10, 6}},
                                             {"linear1.bias", {10}},
                                             {"linear2.weight", {6, 10}},
                                             {"linear2.bias", {6}},
                                             {"norm1.weight", {6}},
                                             {"norm1.bias", {6}},
                                             {"norm2.weight", {6}},
                                             {"norm2.bias", {6}}};
  EXPECT_EQ(shapes, want);
}

TEST(EncoderLayer, HasPyTorchsDefaults) {
  const EncoderLayer layer({.d_model = 4, .nhead = 2});
  EXPECT_EQ(layer.feed_forward.linear1.weight.size(0), 2048);
  EXPECT_EQ(layer.dropout1.p, 0.1);
  EXPECT_EQ(layer.dropout2.p, 0.1);
  EXPECT_EQ(layer.feed_forward.dropout.p, 0.1);
  EXPECT_EQ(layer.self_attn.attend.dropout.p, 0.1);
  EXPECT_EQ(layer.norm1->eps, 1e-5);
  EXPECT_EQ(layer.feed_forward.activation, nn::Activation::kRelu);
  EXPECT_FALSE(layer.norm_first);
}

/// A layer of 6 columns, 2 heads and 10 hidden ones.
EncoderLayerOptions small(const EncoderLayerOptions& with) {
  EncoderLayerOptions options = with;
  options.d_model = 6;
  options.nhead = 2;
  options.dim_feedforward = 10;
  return options;
}

TEST(EncoderLayer, DetailsChooseItsParameters) {
  const auto names = [](const EncoderLayerOptions& with) {
    std::set<std::string> result;
    for (const auto& [name, tensor] : nn::state_dict(EncoderLayer(small(with)))) {
      result.insert(name);
    }
    return result;
  };
  const std::set<std::string> all = names({});
  const auto without = [&](std::set<std::string> gone) {
    std::set<std::string> rest;
    std::ranges::set_difference(all, gone, std::inserter(rest, rest.end()));
    return rest;
  };
  EncoderLayerOptions norms = small({}), attention = norms, linear1 = norms, linear2 = norms,
                      rms = norms, first = norms, none = norms;
  norms.norm_bias = false;
  attention.attention_bias = false;
  linear1.linear1_bias = false;
  linear2.linear2_bias = false;
  rms.norm = nn::NormKind::kRmsNorm;
  first.norm_first = true;
  first.norm1 = false;
  none.bias = false;
  EXPECT_EQ(names(none), without({"self_attn.in_proj_bias", "self_attn.out_proj.bias",
                                  "linear1.bias", "linear2.bias", "norm1.bias", "norm2.bias"}));
  EXPECT_EQ(names(norms), without({"norm1.bias", "norm2.bias"}));
  EXPECT_EQ(names(attention), without({"self_attn.in_proj_bias", "self_attn.out_proj.bias"}));
  EXPECT_EQ(names(rms), names(norms));
  EXPECT_EQ(names(linear1), without({"linear1.bias"}));
  EXPECT_EQ(names(linear2), without({"linear2.bias"}));
  EXPECT_EQ(names(first), without({"norm1.weight", "norm1.bias"}));
}

TEST(EncoderLayer, DropoutsHaveNamesOfTheirOwn) {
  const auto probabilities = [](std::optional<double> EncoderLayerOptions::*part, double p) {
    EncoderLayerOptions options = small({});
    options.*part = p;
    const EncoderLayer layer(options);
    return std::vector<double>{layer.self_attn.attend.dropout.p, layer.dropout1.p,
                               layer.feed_forward.dropout.p, layer.dropout2.p};
  };
  using P = std::vector<double>;
  using O = EncoderLayerOptions;
  EXPECT_EQ(probabilities(&O::attention_dropout, 0.5), (P{0.5, 0.1, 0.1, 0.1}));
  EXPECT_EQ(probabilities(&O::dropout1, 0.5), (P{0.1, 0.5, 0.1, 0.1}));
  EXPECT_EQ(probabilities(&O::feed_forward_dropout, 0), (P{0.1, 0.1, 0, 0.1}));
  EXPECT_EQ(probabilities(&O::dropout2, 0.5), (P{0.1, 0.1, 0.1, 0.5}));
}

TEST(EncoderLayer, AStepWithDropoutTakesMemoryThatGrowsWithTheLength) {
  EncoderLayer layer({.d_model = 32, .nhead = 2, .dim_feedforward = 64, .dropout = 0.1});
  nn::set_requires_grad(layer);
  const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
  const auto taken = [&](index_t tokens) {
    const Tensor x = random_tensor({1, tokens, 32}, kFloat32, 3).set_requires_grad();
    nn::zero_grad(layer);
    release_cached_memory();
    const index_t before = held();
    Tape tape;
    tape.backward(sum(square(layer(x))));
    return held() - before;
  };
  const index_t shorter = taken(1024);
  const index_t longer = taken(4096);  // one head's weights would have 67 MB
  EXPECT_LT(longer, 5 * shorter);
  EXPECT_LT(longer, index_t{40} * 1000 * 1000);
}

TEST(EncoderLayer, EachDropoutChangesTheOutput) {
  const Tensor x = random_tensor({2, 5, 6}, kFloat32, 3);
  for (int which = 0; which < 4; ++which) {
    EncoderLayer layer = make({.d_model = 6, .nhead = 2, .dim_feedforward = 10});
    const Tensor without = layer(x);
    nn::Dropout* dropouts[] = {&layer.self_attn.attend.dropout, &layer.feed_forward.dropout,
                               &layer.dropout1, &layer.dropout2};
    dropouts[which]->p = 0.5;
    manual_seed(6);
    const Tensor dropped = layer(x);
    EXPECT_FALSE(same_bits(dropped, without)) << "dropout " << which;
    manual_seed(6);
    EXPECT_TRUE(same_bits(layer(x), dropped));
    nn::eval(layer);
    EXPECT_TRUE(same_bits(layer(x), without));
    nn::train(layer);
    manual_seed(6);
    EXPECT_TRUE(same_bits(layer(x), dropped));
  }
}

TEST(EncoderLayer, Errors) {
  const EncoderLayer layer = make({.d_model = 12, .nhead = 3, .dim_feedforward = 20});
  EXPECT_TRUE(throws("MultiHeadAttention", {"(2, 5, 11)", "must have width 12"}, [&] {
    layer(zeros({2, 5, 11}));
  }));
  EXPECT_TRUE(throws("MultiHeadAttention", {"(2, 5, 3, 12)"}, [&] {
    layer(zeros({2, 5, 3, 12}));
  }));
  EXPECT_TRUE(throws("linear", {"float64"}, [&] { layer(zeros({2, 5, 12}, kFloat64)); }));
  EXPECT_TRUE(throws("attention", {"(7, 7)", "(2, 3, 5, 5)"}, [&] {
    layer(zeros({2, 5, 12}), keep_mask(ones({7, 7}, kBool)));
  }));
}

}  // namespace
}  // namespace tessera::models
