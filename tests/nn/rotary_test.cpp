#include "tessera/nn/rotary.h"

#include "tessera/nn/nn.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(RotaryModule, RotatesByItsTable) {
  const Tensor x = random_tensor({2, 7, 3, 8}, kFloat32, 1);
  const Tensor positions = random_tensor({2, 7}, kInt64, 2, 0, 20);
  const Rotary all({.base = 500, .max_positions = 20}, 8);
  EXPECT_TRUE(same_bits(all(x), rotary(x, {.table = rotary_table(20, 8, 500)})));
  EXPECT_TRUE(same_bits(all(x, positions), rotary(x, {rotary_table(20, 8, 500), positions})));
  const Rotary part({.width = 4, .interleaved = true}, 8);
  EXPECT_TRUE(same_bits(part(x), rotary(x, {.table = rotary_table(512, 4), .interleaved = true})));
  EXPECT_TRUE(same_bits(part(x).slice(-1, 4), x.slice(-1, 4)));
}

TEST(RotaryModule, ScoresDependOnDistances) {
  const Rotary rotate({.max_positions = 100}, 8);
  const Tensor q = random_tensor({1, 4, 2, 8}, kFloat64, 1),
               k = random_tensor({1, 4, 2, 8}, kFloat64, 2);
  const auto scores = [&](index_t from) {
    const Tensor positions = arange(from, from + 4);
    return matmul(rotate(q, positions).transpose(1, 2), rotate(k, positions).permute({0, 2, 3, 1}));
  };
  // Angles are rounded to float32.
  EXPECT_TRUE(near(scores(90), array(scores(0)), 0, 1e-4));
  EXPECT_FALSE(near(scores(0), array(matmul(q.transpose(1, 2), k.permute({0, 2, 3, 1}))), 0, 0.1));
}

TEST(RotaryModule, TheTableIsABuffer) {
  Rotary rotate({.max_positions = 9}, 8);
  const Rotary copy = rotate;
  EXPECT_TRUE(copy.table.value().storage() == rotate.table.value().storage());
  // In a different dtype from the exact table, for converted and unconverted modules.
  const Tensor x = random_tensor({1, 9, 2, 8}, kFloat64, 1);
  const Tensor before = rotate(x);
  convert(rotate, kFloat64);
  EXPECT_TRUE(same_bits(rotate(x), before));
  EXPECT_TRUE(same_bits(before, rotary(x, {.table = rotary_table(9, 8, 10000, kFloat64)})));
}

TEST(RotaryModule, OptionsAreComparable) {
  EXPECT_TRUE(RotaryOptions{.base = 5} == RotaryOptions{.base = 5});
  EXPECT_FALSE(RotaryOptions{.base = 5} == RotaryOptions{.interleaved = true});
}

TEST(RotaryModule, Errors) {
  fails("Rotary", {"max_positions", "0"}, [] { Rotary({.max_positions = 0}, 8); });
  fails("Rotary", {"head_width", "0"}, [] { Rotary({}, 0); });
  fails("Rotary", {"base", "-1"}, [] { Rotary({.base = -1}, 8); });
  fails("Rotary", {"width 7", "even"}, [] { Rotary({}, 7); });
  fails("Rotary", {"width 8", "got 10"}, [] { Rotary({.width = 10}, 8); });
  fails("Rotary", {"width must be", "got -2"}, [] { Rotary({.width = -2}, 8); });
  const Rotary rotate({.max_positions = 9}, 8);
  fails("Rotary", {"width 8", "(1, 9, 2, 6)"}, [&] { rotate(zeros({1, 9, 2, 6})); });
  fails("Rotary", "int64", [&] { rotate(zeros({1, 9, 2, 8}, kInt64)); });
  fails("Rotary", "undefined", [&] { rotate(Tensor()); });
  fails("rotary", {"10", "9"}, [&] { rotate(zeros({1, 10, 2, 8})); });
}

}  // namespace
}  // namespace tessera::nn
