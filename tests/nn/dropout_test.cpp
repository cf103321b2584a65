#include "nn/dropout.h"

#include "nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(Dropout, DropsWithProbabilityPAndScalesTheRest) {
  manual_seed(8);
  for (DType dtype : {kFloat32, kFloat64}) {
    for (double p : {0.1, 0.5, 0.75}) {
      const Tensor x = random_tensor({200, 250}, dtype, 4, 0.5, 1);
      const Tensor y = Dropout(p)(x);
      EXPECT_EQ(y.dtype(), dtype);
      const Array before = array(x);
      const Array after = array(y);
      const double kept = std::round((1 - p) * 65536) / 65536;  // p counts in steps
      double dropped = 0;
      double neighbours = 0;  // both of a pair dropped: their independence
      for (std::size_t i = 0; i < after.values.size(); ++i) {
        if (after.values[i] == 0) {
          ++dropped;
          neighbours += i > 0 && after.values[i - 1] == 0;
        } else {
          ASSERT_NEAR(after.values[i], before.values[i] / kept, 1e-6 / kept);
        }
      }
      const double n = 50000;
      EXPECT_NEAR(dropped / n, p, 5 * std::sqrt(p * (1 - p) / n));
      EXPECT_NEAR(neighbours / n, p * p, 0.02);
    }
  }
}

TEST(Dropout, IsTheIdentityOutsideTrainingAndForZero) {
  const Tensor x = random_tensor({50}, kFloat32, 4);
  Dropout drop(0.9);
  eval(drop);
  EXPECT_FALSE(drop.active());
  EXPECT_TRUE(same_bits(drop(x), x));
  train(drop);
  EXPECT_TRUE(drop.active());
  EXPECT_FALSE(same_bits(drop(x), x));
  EXPECT_FALSE(Dropout(0).active());
  EXPECT_TRUE(same_bits(Dropout(0)(x), x));
}

TEST(Dropout, OfOneDropsEverythingNanToo) {
  const Tensor x = tensor(
      {1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(same_bits(Dropout(1)(x), zeros({3})));
}

TEST(Dropout, AddsAResidualInPassing) {
  const Tensor x = random_tensor({5, 40}, kFloat32, 4);
  const Tensor residual = random_tensor({5, 40}, kFloat32, 5);
  Dropout drop(0.5);
  manual_seed(8);
  const Tensor want = drop(x) + residual;
  manual_seed(8);
  EXPECT_TRUE(same_bits(drop(x, residual), want));
  eval(drop);
  EXPECT_TRUE(same_bits(drop(x, residual), x + residual));
}

TEST(Dropout, TakesAKeyForACallThatDrops) {
  const Dropout drop(0.25);
  manual_seed(8);
  const Tensor x = random_tensor({100}, kFloat32, 4);
  const Tensor y = drop(x);
  manual_seed(8);
  const DropoutMask mask = drop.draw();
  EXPECT_EQ(mask.p, 0.25);
  EXPECT_TRUE(same_bits(dropout(x, mask), y));
  const Rng::State before = default_rng().state();
  EXPECT_EQ(Dropout(0).draw().p, 0);
  EXPECT_EQ(default_rng().state(), before);
}

TEST(Dropout, TheSeedDecides) {
  const Tensor x = ones({100});
  const Dropout drop(0.5);
  manual_seed(8);
  const Tensor first = drop(x);
  const Tensor second = drop(x);
  EXPECT_FALSE(same_bits(first, second));
  manual_seed(8);
  EXPECT_TRUE(same_bits(drop(x), first));
  EXPECT_TRUE(same_bits(drop(x), second));
  manual_seed(8);
  set_thread_count(3);
  EXPECT_TRUE(same_bits(drop(x), first));
  set_thread_count(0);
}

TEST(Dropout, AnyLayoutAndSize) {
  const Tensor x = random_tensor({7, 9}, kFloat32, 4);
  manual_seed(8);
  const Tensor want = Dropout(0.5)(x);
  for (const Layout& layout : layouts_of(x)) {
    manual_seed(8);
    EXPECT_TRUE(same_bits(Dropout(0.5)(layout.tensor), want)) << layout.name;
  }
  EXPECT_EQ(Dropout(0.5)(zeros({3, 0})).shape(), (Shape{3, 0}));
  EXPECT_EQ(Dropout(0.5)(zeros({})).shape(), Shape{});
}

}  // namespace
}  // namespace tessera::nn
