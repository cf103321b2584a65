#include "tensor/ops/positions.h"

#include "tensor/ops/linear.h"
#include "tensor/ops/rearrange.h"
#include "tests/support/golden_gradients.h"
#include "tests/support/gradcheck.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

class RotaryTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, RotaryTest, each_isa(), isa_name);

/// The definition, of x (B, T, H, d) at positions (B, T).
Array naive_rotary(const Array& x, const Array& table, const Array& positions, bool interleaved) {
  const index_t rotated = table.shape[1];
  const index_t pairs = rotated / 2;
  return build(x.shape, [&](const Dims& at) {
    const index_t column = at[3];
    if (column >= rotated) return x.at(at);
    const index_t k = interleaved ? column / 2 : column % pairs;
    const bool is_first = interleaved ? column % 2 == 0 : column < pairs;
    const index_t partner = interleaved ? column ^ 1 : (column + pairs) % rotated;
    const auto p = static_cast<index_t>(positions.at({at[0], at[1]}));
    const double cosine = table.at({p, k});
    const double sine = table.at({p, pairs + k});
    const double other = x.at({at[0], at[1], at[2], partner});
    return x.at(at) * cosine + (is_first ? -other : other) * sine;
  });
}

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
  EXPECT_TRUE(throws("rotary_table", {"even", "5"}, [] { rotary_table(3, 5); }));
  EXPECT_TRUE(throws("rotary_table", {"at least 0", "-4"}, [] { rotary_table(3, -4); }));
  EXPECT_TRUE(
      throws("rotary_table", {"divisor", "0"}, [] { rotary_table(3, 4, 10, kFloat32, 0); }));
  EXPECT_TRUE(throws("rotary_table", {"base", "0"}, [] { rotary_table(3, 4, 0); }));
  EXPECT_TRUE(throws("rotary_table", {"int64"}, [] { rotary_table(3, 4, 10, kInt64); }));
  EXPECT_ANY_THROW(rotary_table(-1, 4));
}

TEST_P(RotaryTest, IsTheDefinitionInEachLayout) {
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
          const Array want =
              naive_rotary(array(x.tensor), array(table), array(positions), interleaved);
          EXPECT_TRUE(near(got, want, tolerance(dtype), tolerance(dtype)));
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
  EXPECT_TRUE(throws("rotary", {"undefined"}, [&] { rotary(Tensor(), {.table = table}); }));
  EXPECT_TRUE(throws("rotary", {"must have a table"}, [&] { rotary(x, {}); }));
  EXPECT_TRUE(throws("rotary", {"(4, 8)"}, [&] { rotary(zeros({4, 8}), {.table = table}); }));
  EXPECT_TRUE(throws("rotary", {"int64"}, [&] { rotary(x.to(kInt64), {.table = table}); }));
  EXPECT_TRUE(throws("rotary", {"even", "(6, 7)"}, [&] { rotary(x, {.table = zeros({6, 7})}); }));
  EXPECT_TRUE(throws("rotary", {"8 columns", "got 10"}, [&] {
    rotary(x, {.table = zeros({6, 10})});
  }));
  EXPECT_TRUE(
      throws("rotary", {"float64", "float32"}, [&] { rotary(x, {.table = table.to(kFloat64)}); }));
  EXPECT_TRUE(throws("rotary", {"at most 6", "got 7"}, [&] {
    rotary(zeros({2, 7, 3, 8}), {.table = table});
  }));
  EXPECT_TRUE(throws("rotary", {"float32"}, with(zeros({2, 4}))));
  EXPECT_TRUE(throws("rotary", {"(2, 3)", "(2, 4)"}, with(zeros({2, 3}, kInt64))));
  EXPECT_TRUE(
      throws("rotary", {"positions must be in [0, ", "got 6", "6"}, with(full({4}, 6, kInt64))));
  EXPECT_TRUE(
      throws("rotary", {"positions must be in [0, ", "got -1"}, with(full({4}, -1, kInt64))));
  Tape tape;
  Tensor learned = table.clone();
  learned.set_requires_grad();
  EXPECT_TRUE(throws("rotary", {"gradient"}, [&] { rotary(x, {.table = learned}); }));
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

// The numbers of Hugging Face's ModernBERT for 1 ... 8.
TEST_P(RotaryTest, AgreesWithHuggingFace) {
  const Tensor x = (arange(8) + 1).to(kFloat32).reshape({1, 1, 8});
  const auto at = [&](double base, index_t position) {
    return rotary(x, {rotary_table(position + 1, 8, base), full({1}, double(position), kInt64)});
  };
  EXPECT_TRUE(near(at(160000, 3),
                   {{1, 1, 8},
                    {-1.69559252, 1.08091331, 2.94741607, 3.99699974, -4.80884266, 6.23150301,
                     7.02230263, 8.00149918}},
                   3e-7));
  EXPECT_TRUE(near(at(10000, 3),
                   {{1, 1, 8},
                    {-1.69559252, 0.137551665, 2.78868151, 3.97598219, -4.80884266, 6.32305956,
                     7.08683681, 8.01196384}},
                   3e-7));
  EXPECT_TRUE(near(at(160000, 5000),
                   {{1, 1, 8},
                    {5.09450054, 6.30514431, 3.45764804, -1.43692565, -0.214624405, -0.495126247,
                     6.78562212, 8.82809353}},
                   2e-6));
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

TEST(RotaryGradients, OfTheProduct) {
  for (const bool interleaved : {false, true}) {
    const RotaryColumns columns = {
        .rotation = {.table = rotary_table(6, 4, 100, kFloat64), .interleaved = interleaved},
        .heads = 2,
        .width = 5};
    const auto f = [&](const Tensors& in) { return rotary_linear(in[0], in[1], in[2], columns); };
    const Tensor weight = values({13, 4}, 2), bias = values({13}, 3);
    EXPECT_TRUE(gradcheck(f, {values({2, 3, 4}, 1), weight, bias}));
    EXPECT_TRUE(gradcheck(f, {values({6, 4}, 1), weight, bias}));
  }
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
  EXPECT_TRUE(throws("backward", {"rotary"}, [&] { tape.backward(y, ones({4, 2, 4})); }));
}

TEST(Rotary, ErrorsOfTheProduct) {
  const Tensor x = zeros({2, 3, 4}), weight = zeros({12, 4});
  const Rotation by = {.table = rotary_table(3, 4)};
  const auto with = [&](index_t heads, index_t width) {
    return [&, heads, width] { rotary_linear(x, weight, {}, {by, heads, width}); };
  };
  EXPECT_TRUE(throws("rotary_linear", {"rotary heads", "12", "got 4"}, with(4, 4)));
  EXPECT_TRUE(throws("rotary_linear", {"must have a table, got none"}, [&] {
    rotary_linear(x, weight, {}, {.rotation = {.table = {}}, .heads = 1, .width = 4});
  }));
  EXPECT_TRUE(throws("rotary_linear", {"rotary heads", "got 0"}, with(0, 4)));
  EXPECT_TRUE(throws("rotary_linear", {"3 columns", "got 4"}, with(4, 3)));
  EXPECT_TRUE(throws("rotary_linear", {"at most 3", "got 4"}, [&] {
    rotary_linear(zeros({2, 4, 4}), weight, {}, {by, 3, 4});
  }));
}

}  // namespace
}  // namespace tessera::test
