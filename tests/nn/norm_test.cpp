#include "nn/norm.h"

#include "nn/feed_forward.h"
#include "nn/module.h"
#include "tests/support/gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"

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

TEST(LayerNormModule, EpsCounts) {
  // A row with variance 1e-4: eps = 3e-4 doubles the root.
  const Tensor x = tensor({{0.01, -0.01}}, kFloat64);
  LayerNorm norm({.normalized_shape = {2}, .eps = 3e-4});
  convert(norm, kFloat64);
  EXPECT_TRUE(near(norm(x), {{1, 2}, {0.5, -0.5}}, 1e-12));
}

TEST(LayerNormModule, Errors) {
  const LayerNorm norm(6);
  EXPECT_TRUE(throws("layer_norm", {"(2, 5)", "(6,)"}, [&] { norm(zeros({2, 5})); }));
  EXPECT_TRUE(throws("layer_norm", {"int64"}, [&] { norm(zeros({2, 6}, kInt64)); }));
  EXPECT_TRUE(throws("layer_norm", {"float64", "float32"}, [&] { norm(zeros({2, 6}, kFloat64)); }));
}

TEST(RmsNorm, NormalisesTheLastAxes) {
  for (const Shape& last : {Shape{1}, Shape{7}, Shape{33}, Shape{5, 9}}) {
    RmsNorm norm({.normalized_shape = last, .eps = 1e-3});
    norm.weight = random_tensor(last, kFloat32, 1);
    Shape shape = {3};
    Axes axes;
    for (index_t i = 0; i < last.size(); ++i) {
      shape.push_back(last[i]);
      axes.push_back(i + 1);
    }
    const Tensor x = random_tensor(shape, kFloat32, 3);
    const Array want =
        map(naive_rms_normalize(array(x), axes, 1e-3), array(norm.weight), std::multiplies<>());
    EXPECT_TRUE(near(norm(x), want, 0, 5e-6));
    convert(norm, kFloat64);
    EXPECT_TRUE(near(norm(x.to(kFloat64)), want, 0, 1e-13));
  }
}

TEST(RmsNorm, Errors) {
  EXPECT_TRUE(throws("rms_norm", {"(2, 5)", "(6,)"}, [] { RmsNorm(6)(zeros({2, 5})); }));
}

/// The parts of a layer of today: both norms without bias, and a gated network.
struct Block {
  LayerNorm first{{.normalized_shape = {4}, .bias = false}};
  RmsNorm second{4};
  FeedForward feed_forward;

  Tensor operator()(const Tensor& x) const { return feed_forward(second(first(x)), x); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("first", self.first);
    visitor("second", self.second);
    visitor("feed_forward", self.feed_forward);
  }
};

TEST(RmsNorm, ABlockOfTodayHasAGradientForEveryParameter) {
  for (const bool bias : {true, false}) {
    Block block{.feed_forward = FeedForward({.d_model = 4,
                                             .dim_feedforward = 5,
                                             .activation = Activation::kSilu,
                                             .bias = bias,
                                             .gated = true})};
    convert(block, kFloat64);
    set_requires_grad(block);
    Tensors parameters;
    for_each_parameter(block, [&](const std::string&, Tensor& p) { parameters.push_back(p); });
    ASSERT_EQ(parameters.size(), bias ? 6U : 4U);
    const Tensor x = random_tensor({2, 3, 4}, kFloat64, 5);
    EXPECT_TRUE(gradients_agree([&](const Tensors&) { return block(x); }, parameters,
                                [](Tensor t) { return t; }));
  }
}

}  // namespace
}  // namespace tessera::nn
