#include "nn/source.h"

#include "tests/support/distributions.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(Init, LinearUniform) {
  Rng rng(4);
  EXPECT_TRUE(uniform_within(linear_uniform(25)({300, 25}, rng), 0.2));
  EXPECT_TRUE(uniform_within(linear_uniform(400)({5000}, rng), 0.05));
  EXPECT_FALSE(uniform_within(linear_uniform(25)({300, 25}, rng), 0.21));
  EXPECT_EQ(linear_uniform(0)({3, 0}, rng).count(), 0);
  EXPECT_TRUE(exactly(linear_uniform(0)({3}, rng), {{3}, {0, 0, 0}}));
}

TEST(Init, XavierUniform) {
  Rng rng(4);
  EXPECT_TRUE(uniform_within(xavier_uniform({100, 50}, rng), 0.2));
  EXPECT_TRUE(uniform_within(xavier_uniform({50, 100}, rng), 0.2));
  EXPECT_TRUE(
      throws("xavier_uniform", {"(fan_out, fan_in)", "(3,)"}, [&] { xavier_uniform({3}, rng); }));
}

TEST(Init, AConstantDrawsNothing) {
  Rng rng(4);
  EXPECT_TRUE(exactly(constant(3)({2}, rng), {{2}, {3, 3}}));
  EXPECT_EQ(constant(0)({2}, rng).dtype(), kFloat32);
  EXPECT_EQ(rng.state().position, 0U);
}

TEST(Init, TheGeneratorDecides) {
  Rng first(4);
  Rng second(4);
  EXPECT_TRUE(same_bits(xavier_uniform({5, 7}, first), xavier_uniform({5, 7}, second)));
  EXPECT_FALSE(same_bits(xavier_uniform({5, 7}, first), xavier_uniform({7, 5}, second).t()));
  EXPECT_EQ(linear_uniform(4)({2}, first).dtype(), kFloat32);
}

TEST(Init, SizesOfZeroAndBelow) {
  Rng rng(1);
  EXPECT_EQ(xavier_uniform({0, 0}, rng).shape(), (Shape{0, 0}));
  EXPECT_TRUE(throws("xavier_uniform", {"sizes must be at least 0", "(-2, 3)"}, [&] {
    xavier_uniform({-2, 3}, rng);
  }));
  EXPECT_TRUE(
      throws("linear_uniform", {"fan_in must be at least 0, got -3"}, [&] { linear_uniform(-3); }));
}

}  // namespace
}  // namespace tessera::nn
