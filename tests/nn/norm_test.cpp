#include "tessera/nn/norm.h"

#include "tessera/nn/feed_forward.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/ops/layer_norm.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(Norms, HaveTheBitsOfTheirOps) {
  for (const Shape& last : {Shape{33}, Shape{5, 9}}) {
    Shape shape = last;
    shape.insert(0, 3);
    LayerNorm layer({.normalized_shape = last, .eps = 1e-3});
    LayerNorm plain({.normalized_shape = last, .bias = false});
    RMSNorm rms({.normalized_shape = last, .eps = 1e-3});
    layer.weight = rms.weight = random_tensor(last, kFloat32, 1);
    layer.bias = random_tensor(last, kFloat32, 2);
    for (DType dtype : {kFloat32, kFloat64}) {
      convert(layer, dtype);
      convert(rms, dtype);
      const Tensor x = random_tensor(shape, dtype, 3);
      EXPECT_TRUE(same_bits(layer(x), layer_norm(x, layer.weight, layer.bias, 1e-3)));
      EXPECT_TRUE(same_bits(rms(x), rms_norm(x, rms.weight, 1e-3)));
    }
    const Tensor x = random_tensor(shape, kFloat32, 3);
    EXPECT_TRUE(same_bits(plain(x), layer_norm(x, plain.weight, {}, 1e-5)));
  }
}

/// The parts of a modern layer: both norms without bias, and a gated network.
struct Block {
  LayerNorm first{{.normalized_shape = {4}, .bias = false}};
  RMSNorm second{4};
  FeedForward feed_forward;

  Tensor operator()(const Tensor& x) const { return feed_forward(second(first(x)), x); }

  static void visit(auto& self, auto&& visitor) {
    visitor("first", self.first);
    visitor("second", self.second);
    visitor("feed_forward", self.feed_forward);
  }
};

TEST(RMSNorm, ABlockOfTodayHasAGradientForEveryParameter) {
  for (const bool bias : {true, false}) {
    Block block{.feed_forward = FeedForward({.d_model = 4,
                                             .dim_feedforward = 5,
                                             .activation = Activation::kSilu,
                                             .linear1_bias = bias,
                                             .linear2_bias = bias,
                                             .gated = true})};
    convert(block, kFloat64);
    set_requires_grad(block);
    ASSERT_EQ(state_dict(block).size(), bias ? 6U : 4U);
    const Tensor x = random_tensor({2, 3, 4}, kFloat64, 5);
    EXPECT_TRUE(agrees([&] {
      check_gradients(
          block, [&] { return block(x); }, kEveryElement);
    }));
  }
}

}  // namespace
}  // namespace tessera::nn
