#include "nn/linear.h"

#include "tensor/create.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

using ActivationTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ActivationTest, each_isa(), isa_name);

TEST_P(ActivationTest, FollowsItsFormula) {
  for (Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    for (DType dtype : {kFloat32, kFloat64}) {
      const Tensor x = random_tensor({5, 67}, dtype, 3, -9, 9);
      const Array want =
          map(array(x), [&](double value) { return naive_activation(activation, value); });
      const Tensor got = activate(activation, x);
      EXPECT_EQ(got.dtype(), dtype);
      EXPECT_TRUE(
          near(got, want, dtype == kFloat32 ? 1e-6 : 1e-14, dtype == kFloat32 ? 1e-6 : 1e-14));
    }
  }
}

TEST_P(ActivationTest, GeluIsTheExactOneUnlessNamed) {
  // At 2 the two differ in the fourth digit.
  const Tensor two = tensor({2.0}, kFloat64);
  EXPECT_NEAR(activate(Activation::kGelu, two).item(), 1.9544997361036416, 1e-14);
  EXPECT_NEAR(activate(Activation::kGeluTanh, two).item(), 1.954597694087775, 1e-14);
}

TEST_P(ActivationTest, Extremes) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({inf, 1e30, -1e30, 0.0});
  for (Activation activation :
       {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu}) {
    const Tensor y = activate(activation, x);
    EXPECT_EQ(y.item_at({0}), inf);
    EXPECT_EQ(y.item_at<float>({1}), 1e30F);
    EXPECT_EQ(y.item_at({2}), 0);
    EXPECT_EQ(y.item_at({3}), 0);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(activate(activation, tensor({nan})).item()));
  }
}

}  // namespace
}  // namespace tessera::nn
