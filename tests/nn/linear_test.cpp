#include "tessera/nn/linear.h"

#include "tessera/nn/module.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

using LinearTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, LinearTest, each_isa(), isa_name);

TEST_P(LinearTest, IsXWTransposedPlusB) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const LinearOptions& options : {LinearOptions{36, 108}, LinearOptions{1, 1},
                                         LinearOptions{7, 33, false}, LinearOptions{300, 5}}) {
      Linear layer(options);
      convert(layer, dtype);
      const index_t in = options.in_features;
      for (const Shape& shape : {Shape{in}, Shape{5, in}, Shape{2, 3, in}, Shape{2, 1, 3, in}}) {
        SCOPED_TRACE(str_cat(in, " -> ", options.out_features, ", ", shape, ", ", dtype));
        const Tensor x = random_tensor(shape, dtype, 4);
        const Tensor want = naive_linear(x, layer.weight, layer.bias);
        EXPECT_TRUE(near(layer(x), array(want), 0, dtype == kFloat32 ? 5e-6 : 1e-14));
      }
    }
  }
}

TEST(Linear, EmptyInputs) {
  const Linear layer(4, 3);
  EXPECT_EQ(layer(zeros({0, 4})).shape(), (Shape{0, 3}));
  EXPECT_EQ(layer(zeros({2, 0, 4})).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(layer(zeros({0, 5, 4})).shape(), (Shape{0, 5, 3}));
  // Without inputs, only the bias remains.
  const Tensor bias = tensor({1.0, 2.0});
  EXPECT_TRUE(same_bits(linear(zeros({3, 0}), zeros({2, 0}), bias), bias.expand({3, 2})));
  EXPECT_TRUE(same_bits(linear(zeros({2, 3, 0}), zeros({2, 0}), bias), bias.expand({2, 3, 2})));
}

TEST(Activation, HasTheBitsOfItsFunction) {
  const Tensor x = random_tensor({5, 67}, kFloat32, 3, -9, 9);
  EXPECT_TRUE(same_bits(activate(Activation::kNone, x), x));
  EXPECT_TRUE(same_bits(activate(Activation::kRelu, x), relu(x)));
  EXPECT_TRUE(same_bits(activate(Activation::kGelu, x), gelu(x)));
  EXPECT_TRUE(same_bits(activate(Activation::kGeluTanh, x), gelu_tanh(x)));
  EXPECT_TRUE(same_bits(activate(Activation::kSilu, x), silu(x)));
}

}  // namespace
}  // namespace tessera::nn
