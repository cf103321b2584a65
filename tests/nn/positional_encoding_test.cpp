#include "tessera/nn/positional_encoding.h"

#include "tessera/nn/module.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(SinusoidalPositions, AreVaswanis) {
  for (index_t width : {1, 2, 7, 8, 36}) {
    const Array want = build({40, width}, [&](const Dims& at) {
      const double pair = 2 * std::floor(static_cast<double>(at[1]) / 2);
      const double frequency = std::exp(-std::log(10000.0) * pair / static_cast<double>(width));
      const double angle = static_cast<double>(at[0]) * frequency;
      return at[1] % 2 == 0 ? std::sin(angle) : std::cos(angle);
    });
    EXPECT_TRUE(near(sinusoidal_positions(40, width, kFloat64), want, 0, 1e-13))
        << "width " << width;
    const Tensor narrow = sinusoidal_positions(40, width);
    EXPECT_EQ(narrow.dtype(), kFloat32);
    EXPECT_TRUE(near(narrow, want, 0, 1e-7));
  }
}

TEST(SinusoidalPositions, Sizes) {
  EXPECT_EQ(sinusoidal_positions(0, 4).shape(), (Shape{0, 4}));
  EXPECT_EQ(sinusoidal_positions(3, 0).shape(), (Shape{3, 0}));
  EXPECT_ANY_THROW(sinusoidal_positions(-1, 4));
}

TEST(PositionalEncoding, AddsTheFirstRows) {
  for (index_t width : {8, 7}) {
    const PositionalEncoding add_positions({.d_model = width, .max_positions = 20});
    const Tensor table = sinusoidal_positions(20, width, kFloat64);
    for (DType dtype : {kFloat32, kFloat64}) {
      for (const Shape& shape : {Shape{5, width}, Shape{2, 20, width}, Shape{2, 3, 1, width}}) {
        const Tensor x = random_tensor(shape, dtype, 4);
        const Tensor want = naive_add(x, table.slice(0, 0, x.size(-2)));
        const Tensor got = add_positions(x);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_TRUE(near(got, array(want), 0, dtype == kFloat32 ? 3e-7 : 1e-15));
      }
    }
  }
}

TEST(PositionalEncoding, ScalesTheInputFirst) {
  const PositionalEncoding add_positions({.d_model = 4, .input_scale = 2});
  const Tensor got = add_positions(ones({1, 2, 4}, kFloat64));
  const Array want{
      {1, 2, 4},
      {2, 3, 2, 3, 2 + std::sin(1), 2 + std::cos(1), 2 + std::sin(0.01), 2 + std::cos(0.01)}};
  EXPECT_TRUE(near(got, want, 1e-15));
}

TEST(PositionalEncoding, DropsOutWhileTraining) {
  PositionalEncoding add_positions({.d_model = 8, .dropout = 1.0});
  const Tensor x = random_tensor({2, 5, 8}, kFloat32, 4);
  EXPECT_TRUE(same_bits(add_positions(x), zeros({2, 5, 8})));
  eval(add_positions);
  EXPECT_FALSE(same_bits(add_positions(x), zeros({2, 5, 8})));
}

TEST(PositionalEncoding, Errors) {
  const PositionalEncoding add_positions({.d_model = 8, .max_positions = 20});
  fails("PositionalEncoding", {"21", "20"}, [&] { add_positions(zeros({21, 8})); });
  fails("PositionalEncoding", {"(..., T, 8)", "(3, 7)"}, [&] { add_positions(zeros({3, 7})); });
  fails("PositionalEncoding", "(8,)", [&] { add_positions(zeros({8})); });
  fails("PositionalEncoding", "int64", [&] { add_positions(zeros({3, 8}, kInt64)); });
  EXPECT_ANY_THROW(add_positions(Tensor()));
}

TEST(LearnedPositionalEncoding, AddsTheFirstRows) {
  manual_seed(4);
  const LearnedPositionalEncoding add_positions(20, 7);
  for (DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = random_tensor({2, 5, 7}, dtype, 4);
    const Tensor want = naive_add(x, add_positions.weight.slice(0, 0, 5));
    EXPECT_EQ(add_positions(x).dtype(), dtype);
    EXPECT_TRUE(near(add_positions(x), array(want), 0, dtype == kFloat32 ? 3e-7 : 1e-15));
  }
  fails("LearnedPositionalEncoding", {"21", "20"}, [&] { add_positions(zeros({21, 7})); });
}

TEST(PositionalEncodings, AddTheRowsOfGivenPositions) {
  manual_seed(4);
  const PositionalEncoding computed({.d_model = 7, .max_positions = 20});
  const LearnedPositionalEncoding learned(20, 7);
  const Tensor x = random_tensor({2, 3, 7}, kFloat32, 4);
  const auto check = [&](const char* name, const auto& module, const Tensor& table) {
    const Tensor rows = table.slice(0, 5, 20, 7);  // 5, 12, 19
    EXPECT_TRUE(same_bits(module(x, tensor({5, 12, 19})), x + rows));
    EXPECT_TRUE(
        same_bits(module(x, tensor({{0, 1, 2}, {5, 12, 19}})).select(0, 1), x.select(0, 1) + rows));
    EXPECT_TRUE(same_bits(module(x, tensor({0, 1, 2})), module(x)));
    fails("embedding", "20", [&] { module(x, tensor({0, 1, 20})); });
    fails(name, {"(1,)", "(2, 3, 7)"}, [&] { module(x, tensor({4})); });
  };
  check("PositionalEncoding", computed, computed.table.value());
  check("LearnedPositionalEncoding", learned, learned.weight);
}

}  // namespace
}  // namespace tessera::nn
