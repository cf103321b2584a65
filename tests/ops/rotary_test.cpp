#include "tessera/tensor/ops/positions.h"

#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/linear.h"
#include "tessera/tensor/ops/rearrange.h"
#include "tests/support/golden_gradients.h"
#include "tests/support/gradcheck.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

class RotaryTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, RotaryTest, each_isa(), isa_name);

TEST(RotaryTable, HasTheAnglesOfFloat32) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor table = rotary_table(40, 12, 10000, dtype);
    EXPECT_EQ(table.dtype(), dtype);
    const Array want = build({40, 12}, [](const Dims& at) {
      const index_t k = at[1] % 6;
      const double frequency = std::pow(10000.0, -2.0 * static_cast<double>(k) / 12);
      const double angle = static_cast<double>(at[0]) * frequency;
      return at[1] < 6 ? std::cos(angle) : std::sin(angle);
    });
    EXPECT_TRUE(near(table, want, 0, 5e-6)) << "up to the rounding of angles below 40";
  }
  // NTK scaling for s times as many positions: base multiplied by s, divisor s^(2 / width).
  const Tensor wide = rotary_table(40, 12, 80000, kFloat64, std::pow(8, 1.0 / 6));
  const Array scaled = build({40, 6}, [](const Dims& at) {
    const double k = static_cast<double>(at[1]);
    return std::cos(static_cast<double>(at[0]) * std::pow(80000.0, -k / 6) * std::pow(8, -1.0 / 6));
  });
  EXPECT_TRUE(near(wide.slice(1, 0, 6), scaled, 0, 5e-6));
  // Exact: 8000 times the float32 number nearest to 1 / sqrt(10), rounded to float32.
  const float angle = 8000.0F * (1.0F / std::sqrt(10.0F));
  const Tensor far = rotary_table(8001, 4, 10, kFloat64).select(0, 8000);
  EXPECT_NEAR(far.item_at({1}), std::cos(static_cast<double>(angle)), 1e-15);
  EXPECT_NEAR(far.item_at({3}), std::sin(static_cast<double>(angle)), 1e-15);
  EXPECT_EQ(rotary_table(0, 4).shape(), (Shape{0, 4}));
}

TEST(RotaryTable, Errors) {
  fails("rotary_table", {"even", "5"}, [] { rotary_table(3, 5); });
  fails("rotary_table", {"at least 0", "-4"}, [] { rotary_table(3, -4); });
  fails("rotary_table", {"divisor", "0"}, [] { rotary_table(3, 4, 10, kFloat32, 0); });
  fails("rotary_table", {"base", "0"}, [] { rotary_table(3, 4, 0); });
  fails("rotary_table", "int64", [] { rotary_table(3, 4, 10, kInt64); });
  EXPECT_ANY_THROW(rotary_table(-1, 4));
}

TEST_P(RotaryTest, HasTheSameBitsInEachLayout) {
  const Tensor positions = from_vector(std::vector<index_t>{3, 0, 9, 9, 1, 4, 4, 2}, {2, 4});
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const index_t rotated : {2, 6, 10}) {
      const Tensor table = rotary_table(10, rotated, 100, dtype);
      for (const Layout& x : random_layouts({2, 4, 3, 10}, dtype, 1)) {
        for (const bool interleaved : {false, true}) {
          SCOPED_TRACE(str_cat(x.name, ", rotated ", rotated, ", interleaved ", interleaved));
          const Tensor got = rotary(x.tensor, {table, positions, interleaved});
          EXPECT_EQ(got.dtype(), dtype);
          EXPECT_TRUE(got.is_contiguous());
          EXPECT_TRUE(same_bits(got, rotary(x.tensor.clone(), {table, positions, interleaved})));
        }
      }
    }
  }
}

TEST_P(RotaryTest, PositionsCountFromZeroAndBroadcast) {
  const Tensor x = random_tensor({3, 2, 5, 4, 6}, kFloat32, 1);
  const Tensor table = rotary_table(5, 6);
  const Tensor want = rotary(x, {.table = table});
  const Tensor count = arange(5);
  EXPECT_TRUE(same_bits(rotary(x, {table, count}), want));
  EXPECT_TRUE(same_bits(rotary(x, {table, count.unsqueeze(0).expand({2, 5})}), want));
  EXPECT_TRUE(same_bits(rotary(x.select(0, 1), {.table = table}), want.select(0, 1)));
  EXPECT_TRUE(same_bits(rotary(x.select(0, 1).select(0, 0), {.table = table}),
                        want.select(0, 1).select(0, 0)));
  EXPECT_TRUE(same_bits(rotary(zeros({2, 0, 3, 6}), {.table = table}), zeros({2, 0, 3, 6})));
  EXPECT_TRUE(same_bits(rotary(zeros({0, 3, 2, 6}), {.table = table}), zeros({0, 3, 2, 6})));
}

TEST_P(RotaryTest, ThreadsAndTheBatchChangeNoBit) {
  const Tensor x = random_tensor({4, 131, 6, 40}, kFloat32, 1);
  for (const bool interleaved : {false, true}) {
    const Rotation by = {.table = rotary_table(131, 32), .interleaved = interleaved};
    const Tensor want = same_on_any_threads([&] { return rotary(x, by); });
    EXPECT_TRUE(same_bits(rotary(x.slice(0, 2, 3), by), want.slice(0, 2, 3)));
    EXPECT_TRUE(same_bits(rotary(x.slice(1, 0, 100), by), want.slice(1, 0, 100)));
  }
}

TEST(Rotary, Errors) {
  const Tensor x = zeros({2, 4, 3, 8});
  const Tensor table = rotary_table(6, 8);
  const auto with = [&](const Tensor& positions) { return [&] { rotary(x, {table, positions}); }; };
  fails("rotary", "undefined", [&] { rotary(Tensor(), {.table = table}); });
  fails("rotary", "must have a table", [&] { rotary(x, {}); });
  fails("rotary", "(4, 8)", [&] { rotary(zeros({4, 8}), {.table = table}); });
  fails("rotary", "int64", [&] { rotary(x.to(kInt64), {.table = table}); });
  fails("rotary", {"even", "(6, 7)"}, [&] { rotary(x, {.table = zeros({6, 7})}); });
  fails("rotary", {"8 columns", "got 10"}, [&] { rotary(x, {.table = zeros({6, 10})}); });
  fails("rotary", {"float64", "float32"}, [&] { rotary(x, {.table = table.to(kFloat64)}); });
  fails("rotary", {"at most 6", "got 7"}, [&] { rotary(zeros({2, 7, 3, 8}), {.table = table}); });
  fails("rotary", "float32", with(zeros({2, 4})));
  fails("rotary", {"(2, 3)", "(2, 4)"}, with(zeros({2, 3}, kInt64)));
  fails("rotary", {"positions must be in [0, ", "got 6", "6"}, with(full({4}, 6, kInt64)));
  fails("rotary", {"positions must be in [0, ", "got -1"}, with(full({4}, -1, kInt64)));
  Tape tape;
  Tensor learned = table.clone();
  learned.set_requires_grad();
  fails("rotary", "gradient", [&] { rotary(x, {.table = learned}); });
}

TEST_P(RotaryTest, AgreesWithPyTorch) {
  const GoldenCase golden("rotary");
  EXPECT_EQ(golden_case_names(golden).size(), 7U);
  for (const std::string& name : golden_case_names(golden)) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const auto f = [dtype](GoldenOperands& o) {
        const Tensor table =
            rotary_table(8192, o["width"].item<index_t>(), o["base"].item(), dtype);
        return rotary(o["x"], {table, o["positions"], o["interleaved"].item<bool>()});
      };
      EXPECT_TRUE(agrees(golden, name, dtype, f, dtype == kFloat32 ? 1e-5 : 1e-12)) << dtype;
    }
  }
}

TEST(RotaryGradients, OfHeads) {
  const Tensor positions = from_vector(std::vector<index_t>{3, 0, 5, 5, 1, 4}, {2, 3});
  for (const bool interleaved : {false, true}) {
    const Rotation by = {rotary_table(6, 4, 100, kFloat64), positions, interleaved};
    EXPECT_TRUE(
        gradcheck([&](const Tensors& in) { return rotary(in[0], by); }, {values({2, 3, 2, 5}, 1)}));
  }
}

/// x W^T + b with heads rotated: in the product, or after it by ops.
Tensor rotated_after(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const RotaryColumns& columns) {
  const Tensor y = linear(x, weight, bias);
  const index_t n = columns.heads * columns.width;
  const Tensor heads = y.slice(-1, 0, n).unflatten(-1, {columns.heads, columns.width});
  return concat({rotary(heads, columns.rotation).flatten(-2, -1), y.slice(-1, n)}, -1);
}

TEST_P(RotaryTest, InTheProductHasTheBitsOfTheOps) {
  const Tensor weight = random_tensor({3 * 36, 36}, kFloat32, 2);
  const Tensor bias = random_tensor({3 * 36}, kFloat32, 3);
  for (const index_t heads : {2, 4, 6}) {
    for (const Shape& shape :
         {Shape{2, 131, 36}, Shape{1, 1, 36}, Shape{7, 36}, Shape{2, 2, 3, 36}}) {
      for (const Layout& x : random_layouts(shape, kFloat32, 1)) {
        SCOPED_TRACE(str_cat(x.name, ", shape ", shape, ", heads ", heads));
        Shape leading = shape;
        leading.erase(leading.size() - 1);
        const RotaryColumns columns = {
            .rotation = {.table = rotary_table(140, 12),
                         .positions = random_tensor(leading, kInt64, 4, 0, 140)},
            .heads = heads,
            .width = 12};
        Tensor dx[2], dw[2], db[2], y[2];
        const Tensor dy = random_tensor(leading, kFloat32, 5).unsqueeze(-1);
        for (int fused = 0; fused < 2; ++fused) {
          Tensor in = x.tensor.clone(), w = weight.clone(), b = bias.clone();
          for (Tensor* each : {&in, &w, &b}) each->set_requires_grad();
          Tape tape;
          y[fused] = fused == 0 ? rotated_after(in, w, b, columns)
                                : rotary_linear(in, Weight(w), b, columns);
          EXPECT_TRUE(same_bits(y[fused].detach(), rotary_linear(x.tensor, weight, bias, columns)));
          tape.backward(y[fused], dy.expand(y[fused].shape()));
          dx[fused] = in.grad();
          dw[fused] = w.grad();
          db[fused] = b.grad();
        }
        EXPECT_TRUE(same_bits(dx[1], dx[0]));
        EXPECT_TRUE(same_bits(dw[1], dw[0]));
        EXPECT_TRUE(same_bits(db[1], db[0]));
      }
    }
  }
}

// The incoming gradient is rotated in place only if it is not shared.
TEST(RotaryGradients, LeaveASharedGradientAlone) {
  const RotaryColumns columns = {{.table = rotary_table(4, 4)}, 2, 4};
  Tensor x = random_tensor({4, 6}, kFloat32, 1);
  const Tensor weight = random_tensor({8, 6}, kFloat32, 2);
  x.set_requires_grad();
  const Tensor dy = random_tensor({4, 8}, kFloat32, 3);
  const Tensor before = dy.clone();
  Tape tape;
  tape.backward(rotary_linear(x, weight, {}, columns), dy);
  EXPECT_TRUE(same_bits(dy, before));
  const Tensor want = x.grad().clone();
  x.zero_grad();
  Tape again;
  const Tensor y = rotary_linear(x, weight, {}, columns);
  again.backward(y * dy, ones({4, 8}));
  EXPECT_TRUE(same_bits(x.grad(), want));
}

TEST(RotaryGradients, RefuseATableThatWasWritten) {
  Tensor x = random_tensor({4, 2, 4}, kFloat32, 1);
  x.set_requires_grad();
  Tensor table = rotary_table(4, 4);
  Tape tape;
  const Tensor y = rotary(x, {.table = table});
  table.fill(0);
  fails("backward", "rotary", [&] { tape.backward(y, ones({4, 2, 4})); });
}

TEST(Rotary, ErrorsOfTheProduct) {
  const Tensor x = zeros({2, 3, 4}), weight = zeros({12, 4});
  const Rotation by = {.table = rotary_table(3, 4)};
  const auto with = [&](index_t heads, index_t width) {
    return [&, heads, width] { rotary_linear(x, weight, {}, {by, heads, width}); };
  };
  fails("rotary_linear", {"rotary heads", "12", "got 4"}, with(4, 4));
  fails("rotary_linear", "must have a table, got none",
        [&] { rotary_linear(x, weight, {}, {.rotation = {.table = {}}, .heads = 1, .width = 4}); });
  fails("rotary_linear", {"rotary heads", "got 0"}, with(0, 4));
  fails("rotary_linear", {"3 columns", "got 4"}, with(4, 3));
  fails("rotary_linear", {"at most 3", "got 4"}, [&] {
    rotary_linear(zeros({2, 4, 4}), weight, {}, {by, 3, 4});
  });
}

}  // namespace
}  // namespace tessera::test
