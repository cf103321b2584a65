#include <gtest/gtest.h>

#include <cmath>

#include "nn/module.h"
#include "nn/norm.h"
#include "tensor/create.h"
#include "tests/support/errors.h"
#include "tests/support/nn_oracle.h"

namespace tessera::nn {
namespace {

using namespace test;

void randomise(LayerNorm& norm) {
  norm.weight = random_tensor(norm.weight.shape(), kFloat32, 1);
  if (norm.bias.defined()) norm.bias = random_tensor(norm.bias.shape(), kFloat32, 2);
}

TEST(LayerNormModule, NormalisesTheLastAxis) {
  for (index_t width : {1, 7, 33, 64}) {
    for (bool bias : {true, false}) {
      LayerNorm norm({.normalized_shape = {width}, .eps = 1e-3, .bias = bias});
      randomise(norm);
      const Tensor x = random_tensor({3, 5, width}, kFloat32, 3);
      const Tensor want = naive_layer_norm(x, norm.weight, norm.bias, 1e-3);
      EXPECT_TRUE(near(norm(x), array(want), 0, 5e-6));
      convert(norm, kFloat64);
      EXPECT_TRUE(near(norm(x.to(kFloat64)), array(want), 0, 1e-13));
    }
  }
}

TEST(LayerNormModule, NormalisesSeveralAxesTogether) {
  LayerNorm norm(LayerNormOptions{.normalized_shape = {5, 9}});
  randomise(norm);
  const Tensor x = random_tensor({4, 5, 9}, kFloat32, 3);
  const Tensor want = naive_layer_norm(x.reshape({4, 45}), norm.weight.reshape({45}),
                                       norm.bias.reshape({45}), 1e-5);
  EXPECT_TRUE(near(norm(x).reshape({4, 45}), array(want), 0, 5e-6));
}

TEST(LayerNormModule, StartsAsOnesAndZeros) {
  const LayerNorm norm(6);
  EXPECT_EQ(norm.eps, 1e-5);
  EXPECT_TRUE(same_bits(norm.weight, ones({6})));
  EXPECT_TRUE(same_bits(norm.bias, zeros({6})));
}

TEST(LayerNormModule, EpsCounts) {
  // A row with variance 1e-4: eps = 3e-4 doubles the root.
  const Tensor x = tensor({{0.01, -0.01}}, kFloat64);
  LayerNorm norm({.normalized_shape = {2}, .eps = 3e-4});
  convert(norm, kFloat64);
  EXPECT_TRUE(near(norm(x), {{1, 2}, {0.5, -0.5}}, 1e-12));
}

TEST(LayerNormModule, ParametersHavePyTorchsNames) {
  const StateDict state = state_dict(LayerNorm(6));
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state.at("weight").shape(), (Shape{6}));
  EXPECT_EQ(state.at("bias").shape(), (Shape{6}));
  EXPECT_EQ(state_dict(LayerNorm({.normalized_shape = {6}, .bias = false})).size(), 1U);
}

TEST(LayerNormModule, Errors) {
  const LayerNorm norm(6);
  EXPECT_TRUE(throws("layer_norm", {"(2, 5)", "(6,)"}, [&] { norm(zeros({2, 5})); }));
  EXPECT_TRUE(throws("layer_norm", {"int64"}, [&] { norm(zeros({2, 6}, kInt64)); }));
  EXPECT_TRUE(throws("layer_norm", {"float64", "float32"}, [&] { norm(zeros({2, 6}, kFloat64)); }));
}

}  // namespace
}  // namespace tessera::nn
