#include "tessera/nn/dropout.h"

#include "tessera/nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

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
  const Tensor x = tensor({1.0, kNaN, kInf});
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
  EXPECT_FALSE(same_bits(drop(x), y));
  manual_seed(8);
  const DropoutOptions mask = drop.draw();
  EXPECT_EQ(mask.p, 0.25);
  EXPECT_TRUE(same_bits(dropout(x, mask), y));
  const Rng::State before = default_rng().state();
  EXPECT_EQ(Dropout(0).draw().p, 0);
  EXPECT_EQ(default_rng().state(), before);
}

TEST(Dropout, ResidualsHaveTheShapeOfXInBothModes) {
  for (const bool training : {true, false}) {
    Dropout drop(0.5);
    drop.training = training;
    fails("dropout", {"residual must be float32 (3,)", "got float32 (2, 3)"}, [&] {
      drop(ones({3}), ones({2, 3}));
    });
    fails("dropout", {"residual must be float32", "got float64"},
          [&] { drop(ones({3}), ones({3}, kFloat64)); });
  }
}

}  // namespace
}  // namespace tessera::nn
