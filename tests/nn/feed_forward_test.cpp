#include "tessera/nn/feed_forward.h"

#include "tessera/nn/module.h"
#include "tests/support/golden.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(FeedForward, FollowsItsFormula) {
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                Activation::kGeluTanh, Activation::kSilu}) {
    for (const int kind : {0, 1, 2, 3}) {
      const bool bias = kind % 2 == 0, gated = kind / 2 == 0;
      FeedForward network({.d_model = 9,
                           .dim_feedforward = 21,
                           .activation = activation,
                           .linear1_bias = bias,
                           .linear2_bias = bias,
                           .gated = gated});
      const Tensor& weight = *network.linear1.weight;
      EXPECT_EQ(network.linear1.weight.is_same(Weight::gated(weight)), gated);
      for (const Shape& shape : {Shape{9}, Shape{5, 9}, Shape{2, 3, 9}, Shape{2, 0, 9}}) {
        const Tensor x = random_tensor(shape, kFloat32, 3, -4, 4);
        const auto activated = [&](double value) { return naive_activation(activation, value); };
        const Tensor hidden =
            gated ? naive_gated_linear(x, weight, network.linear1.bias, activation)
                  : wide(map(array(naive_linear(x, weight, network.linear1.bias)), activated));
        const Tensor want = naive_linear(hidden, network.linear2.weight, network.linear2.bias);
        EXPECT_TRUE(near(network(x), array(want), 0, gated ? 4e-6 : 2e-6));
        FeedForward doubled = network;
        convert(doubled, kFloat64);
        EXPECT_TRUE(near(doubled(x.to(kFloat64)), array(want), 0, 1e-13));
      }
    }
  }
}

TEST(FeedForward, GatedAgreesWithPyTorch) {
  const GoldenCase golden("gated");
  for (const auto& [name, activation] : std::map<std::string, Activation>{
           {"geglu", Activation::kGelu}, {"swiglu", Activation::kSilu}}) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const auto given = golden.group("network_" + name + ".", dtype);
      FeedForward network(
          {.d_model = 8, .dim_feedforward = 21, .activation = activation, .gated = true});
      convert(network, dtype);
      load_state_dict(network, {{"linear1.weight", given.at("weight1")},
                                {"linear1.bias", given.at("bias1")},
                                {"linear2.weight", given.at("weight2")},
                                {"linear2.bias", given.at("bias2")}});
      const double allowed = dtype == kFloat32 ? 1e-5 : 1e-12;
      EXPECT_TRUE(near(network(given.at("input")), array(given.at("output")), allowed, allowed))
          << name << ", " << dtype;
    }
  }
}

TEST(FeedForward, DropsBetweenTheLayersWhileTraining) {
  FeedForward network({.d_model = 9, .dim_feedforward = 21, .dropout = 1.0});
  const Tensor x = random_tensor({5, 9}, kFloat32, 3);
  EXPECT_TRUE(same_bits(network(x), network.linear2.bias.expand({5, 9})));
  eval(network);
  EXPECT_FALSE(same_bits(network(x), network.linear2.bias.expand({5, 9})));
}

TEST(FeedForward, Errors) {
  const FeedForward network({.d_model = 9, .dim_feedforward = 21});
  fails("linear", {"(5, 8)", "(21, 9)"}, [&] { network(zeros({5, 8})); });
  fails("FeedForward", "2",
        [] { FeedForward({.d_model = 9, .dim_feedforward = 21, .dropout = 2}); });
}

}  // namespace
}  // namespace tessera::nn
