#include "nn/feed_forward.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "nn/module.h"
#include "tensor/create.h"
#include "tests/support/errors.h"
#include "tests/support/nn_oracle.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(FeedForward, FollowsItsFormula) {
  for (Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh}) {
    for (bool bias : {true, false}) {
      FeedForward network(
          {.d_model = 9, .dim_feedforward = 21, .activation = activation, .bias = bias});
      for (const Shape& shape : {Shape{9}, Shape{5, 9}, Shape{2, 3, 9}, Shape{2, 0, 9}}) {
        const Tensor x = random_tensor(shape, kFloat32, 3, -4, 4);
        const Tensor hidden = naive_linear(x, network.linear1.weight, network.linear1.bias);
        const Array active =
            map(array(hidden), [&](double value) { return naive_activation(activation, value); });
        const Tensor want =
            naive_linear(wide(active), network.linear2.weight, network.linear2.bias);
        EXPECT_TRUE(near(network(x), array(want), 0, 2e-6));
        FeedForward doubled = network;
        convert(doubled, kFloat64);
        EXPECT_TRUE(near(doubled(x.to(kFloat64)), array(want), 0, 1e-13));
      }
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

TEST(FeedForward, ParametersHavePyTorchsNames) {
  std::map<std::string, Shape> shapes;
  for (const auto& [name, tensor] :
       state_dict(FeedForward({.d_model = 9, .dim_feedforward = 21}))) {
    shapes.emplace(name, tensor.shape());
  }
  EXPECT_EQ(shapes, (std::map<std::string, Shape>{{"linear1.weight", {21, 9}},
                                                  {"linear1.bias", {21}},
                                                  {"linear2.weight", {9, 21}},
                                                  {"linear2.bias", {9}}}));
}

TEST(FeedForward, Errors) {
  const FeedForward network({.d_model = 9, .dim_feedforward = 21});
  EXPECT_TRUE(throws("linear", {"(5, 8)", "(21, 9)"}, [&] { network(zeros({5, 8})); }));
  EXPECT_TRUE(throws("FeedForward", {"2"},
                     [] { FeedForward({.d_model = 9, .dim_feedforward = 21, .dropout = 2}); }));
}

}  // namespace
}  // namespace tessera::nn
