#include "tessera/nn/parameter_source.h"

#include "tessera/nn/nn.h"
#include "tests/support/asked_parameters.h"
#include "tests/support/distributions.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(ParameterSource, ModulesAskForWhatTheyName) {
  EXPECT_EQ(expect_asks_for_what_it_names<Linear>(LinearOptions{3, 4}).size(), 2U);
  EXPECT_EQ(expect_asks_for_what_it_names<Linear>(LinearOptions{3, 4, false}).size(), 1U);
  EXPECT_EQ(expect_asks_for_what_it_names<Embedding>(EmbeddingOptions{5, 2}).size(), 1U);
  EXPECT_EQ(expect_asks_for_what_it_names<LayerNorm>(LayerNormOptions{{2, 3}}).size(), 2U);
  EXPECT_EQ(expect_asks_for_what_it_names<RMSNorm>(RMSNormOptions{{2, 3}}).size(), 1U);
  EXPECT_EQ(expect_asks_for_what_it_names<Norm>(NormOptions{3}).size(), 2U);
  EXPECT_EQ(expect_asks_for_what_it_names<Norm>(NormOptions{3, NormKind::kRMSNorm}).size(), 1U);
  EXPECT_EQ(expect_asks_for_what_it_names<RelativePositionBias>(RelativePositionOptions{2}).size(),
            1U);
  EXPECT_EQ(expect_asks_for_what_it_names<FeedForward>(FeedForwardOptions{3, 5}).size(), 4U);
  EXPECT_EQ(expect_asks_for_what_it_names<FeedForward>(
                FeedForwardOptions{
                    .d_model = 3, .dim_feedforward = 5, .linear1_bias = false, .gated = true})
                .size(),
            3U);
  EXPECT_EQ(
      expect_asks_for_what_it_names<MultiHeadAttention>(MultiHeadAttentionOptions{4, 2}).size(),
      4U);
  EXPECT_EQ(expect_asks_for_what_it_names<MultiHeadAttention>(
                MultiHeadAttentionOptions{.embed_dim = 4, .num_heads = 2, .bias = false, .kdim = 3})
                .size(),
            4U);
}

TEST(ParameterSource, AGeneratorDrawsInTheOrderOfTheRequests) {
  Rng rng(3), same(3);
  const Linear linear(4, 8, rng);
  EXPECT_TRUE(same_bits(linear.weight, uniform(-0.5, 0.5, {8, 4}, kFloat32, same)));
  EXPECT_TRUE(same_bits(linear.bias, uniform(-0.5, 0.5, {8}, kFloat32, same)));
  EXPECT_EQ(rng.state(), same.state());
}

TEST(ParameterSource, AStateIsSharedAndNothingIsDrawn) {
  const FeedForward model({.d_model = 3, .dim_feedforward = 5});
  const Rng::State before = default_rng().state();
  const FeedForward other({.d_model = 3, .dim_feedforward = 5}, ParameterSource(state_dict(model)));
  EXPECT_EQ(default_rng().state(), before);
  for (const auto& [name, tensor] : state_dict(other)) {
    EXPECT_EQ(tensor.storage(), state_dict(model).at(name).storage()) << name;
  }
}

TEST(ParameterSource, AStateIsReadInFloat32AndWithoutItsGradient) {
  StateDict state = {{"a.weight", ones({2, 3}, kFloat64)}, {"a.bias", ones({2})}};
  state["a.bias"].set_requires_grad();
  const Linear linear(3, 2, ParameterSource(state)["a"]);
  EXPECT_EQ(linear.weight.dtype(), kFloat32);
  EXPECT_FALSE(linear.bias.requires_grad());
  EXPECT_EQ(linear.bias.storage(), state["a.bias"].storage());
}

TEST(ParameterSource, AViewIsCopiedSoThatItCanBeTrained) {
  const ParameterSource source(
      StateDict{{"weight", ones({3, 2}).t()}, {"bias", ones({1}).expand({2})}});
  const Linear linear(3, 2, source);
  EXPECT_TRUE(linear.weight->is_contiguous());
  EXPECT_TRUE(linear.bias.is_contiguous());
}

TEST(ParameterSource, SaysWhatDoesNotFit) {
  const ParameterSource source(StateDict{{"a.linear1.weight", ones({5, 3})}, {"b", ones({5, 3})}});
  const auto make = [&](index_t width) {
    FeedForward({.d_model = width, .dim_feedforward = 5}, source["a"]);
  };
  fails("ParameterSource", "'a.linear1.bias' must be in the state, got 2 other names",
        [&] { make(3); });
  fails("ParameterSource", "'a.linear1.weight' must have shape (5, 4), got (5, 3)",
        [&] { make(4); });
  for (const Tensor& wrong : {ones({5, 3}, kInt64), Tensor()}) {
    const ParameterSource other(StateDict{{"weight", wrong}});
    EXPECT_TRUE(throws("ParameterSource", {"'weight' must be a floating tensor, got "}, [&] {
      Linear(3, 5, other);
    })) << wrong.defined();
  }
}

TEST(ParameterSource, AFunctionMayBeOne) {
  std::string names;
  const ParameterSource source([&](const std::string& name, const Shape& shape, const Init&) {
    names += name + ' ';
    return full(shape, 2, kFloat32);
  });
  const LayerNorm norm(3, source["x"]["y"]);
  EXPECT_EQ(names, "x.y.weight x.y.bias ");
  EXPECT_TRUE(exactly(norm.bias, {{3}, {2, 2, 2}}));
  fails("ParameterSource", "'weight' must have shape (3,), got (1,)", [] {
    LayerNorm(3, ParameterSource([](const auto&, const Shape&, const auto&) { return ones({1}); }));
  });
}

TEST(Init, LinearUniform) {
  Rng rng(4);
  EXPECT_TRUE(uniform_within(init::linear_uniform(25)({300, 25}, rng), 0.2));
  EXPECT_TRUE(uniform_within(init::linear_uniform(400)({5000}, rng), 0.05));
  EXPECT_FALSE(uniform_within(init::linear_uniform(25)({300, 25}, rng), 0.21));
  EXPECT_EQ(init::linear_uniform(0)({3, 0}, rng).count(), 0);
  EXPECT_TRUE(exactly(init::linear_uniform(0)({3}, rng), {{3}, {0, 0, 0}}));
}

TEST(Init, XavierUniform) {
  Rng rng(4);
  EXPECT_TRUE(uniform_within(init::xavier_uniform({100, 50}, rng), 0.2));
  EXPECT_TRUE(uniform_within(init::xavier_uniform({50, 100}, rng), 0.2));
  fails("xavier_uniform", {"(fan_out, fan_in)", "(3,)"}, [&] { init::xavier_uniform({3}, rng); });
}

TEST(Init, AConstantDrawsNothing) {
  Rng rng(4);
  EXPECT_TRUE(exactly(init::constant(3)({2}, rng), {{2}, {3, 3}}));
  EXPECT_EQ(init::constant(0)({2}, rng).dtype(), kFloat32);
  EXPECT_EQ(rng.state().position, 0U);
}

TEST(Init, TheGeneratorDecides) {
  Rng first(4);
  Rng second(4);
  EXPECT_TRUE(same_bits(init::xavier_uniform({5, 7}, first), init::xavier_uniform({5, 7}, second)));
  EXPECT_FALSE(
      same_bits(init::xavier_uniform({5, 7}, first), init::xavier_uniform({7, 5}, second).t()));
  EXPECT_EQ(init::linear_uniform(4)({2}, first).dtype(), kFloat32);
}

TEST(Init, SizesOfZeroAndBelow) {
  Rng rng(1);
  EXPECT_EQ(init::xavier_uniform({0, 0}, rng).shape(), (Shape{0, 0}));
  fails("xavier_uniform", {"sizes must be at least 0", "(-2, 3)"}, [&] {
    init::xavier_uniform({-2, 3}, rng);
  });
  fails("linear_uniform", "fan_in must be at least 0, got -3", [&] { init::linear_uniform(-3); });
}

}  // namespace
}  // namespace tessera::nn
