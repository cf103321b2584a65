#include "nn/visit.h"

#include "nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

struct Table {
  Buffer table{full({3}, 1.0 / 3, kFloat64)};
  Buffer ids{arange(3)};

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("ids", self.ids);
  }
};

TEST(Buffer, FollowsConvertAndLosesNothing) {
  Table module;
  EXPECT_TRUE(same_bits(module.table.value(), full({3}, 1.0 / 3)));
  convert(module, kFloat64);
  EXPECT_TRUE(same_bits(module.table.value(), full({3}, 1.0 / 3, kFloat64)));
  convert(module, kFloat32);
  EXPECT_EQ(module.table.value().dtype(), kFloat32);
  EXPECT_EQ(module.ids.value().dtype(), kInt64);
  EXPECT_FALSE(Buffer().value().defined());
}

TEST(Buffer, IsNoParameter) {
  Table module;
  set_requires_grad(module);
  EXPECT_FALSE(module.table.value().requires_grad());
  EXPECT_TRUE(state_dict(module).empty());
  EXPECT_TRUE(parameters(module).empty());
  EXPECT_EQ(parameter_count(module), 0);
  EXPECT_EQ(summary(module), describe({}));
}

TEST(Buffer, StaysInAClone) {
  Table module;
  convert(module, kFloat64);
  const Table copy = clone(module);
  convert(module, kFloat32);
  EXPECT_TRUE(same_bits(copy.table.value(), full({3}, 1.0 / 3, kFloat64)));
}

TEST(Buffer, HoldsTheTableOfPositions) {
  PositionalEncoding positions({.d_model = 4, .max_tokens = 5});
  EXPECT_TRUE(same_bits(positions.table.value(), sinusoidal_positions(5, 4)));
  convert(positions, kFloat64);
  EXPECT_TRUE(same_bits(positions.table.value(), sinusoidal_positions(5, 4, kFloat64)));
}

}  // namespace
}  // namespace tessera::nn
