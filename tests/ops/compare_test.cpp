// Tests specific to comparisons: arithmetic_test.cpp compares them with the definition.
#include "tessera/tensor/ops/compare.h"

#include "tessera/tensor/ops/arithmetic.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

std::vector<bool> bools(const Tensor& x) {
  return x.to_vector<bool>();
}

using CompareTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, CompareTest, test::each_isa(), test::isa_name);

/// Small integers of every dtype, so that many pairs are equal.
std::vector<test::Layout> few_values(const Shape& shape, DType dtype, std::uint64_t seed) {
  return test::layouts_of(random_tensor(shape, kInt64, seed, 0, 4).to(dtype));
}

// A comparison is no truth value: `if (x == y)` and comparisons of containers of tensors do not
// compile.
static_assert(!std::constructible_from<bool, Tensor> && !std::equality_comparable<Tensor>);

TEST(CompareOperatorTest, OnEitherSide) {
  const Tensor x = tensor({1, 2, 3});
  EXPECT_EQ(bools(x < 2), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools(x <= 2), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(bools(x > 2), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(bools(x >= 2), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(bools(2 < x), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(bools(eq(2, x)), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools(x == 2), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools(2 != x), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(bools(x != tensor({1, 0, 3})), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools(x.unsqueeze(1) == x).size(), 9U);
  EXPECT_EQ(bools(2 <= x), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(bools(2 > x), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools(2 >= x), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(bools(x < tensor({3, 2, 4})), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(bools(x >= tensor({3, 2, 4})), (std::vector<bool>{false, true, false}));
  const index_t big = index_t{1} << 60;
  EXPECT_EQ(bools(from_vector(std::vector<index_t>{big, big + 1}) > big),
            (std::vector<bool>{false, true}));
}

TEST(LogicalTest, OfAnyDType) {
  const Tensor a = tensor({0.0, 0.0, 2.0, kNaN});
  const Tensor b = tensor({false, true, false, true});
  EXPECT_EQ(bools(logical_not(a)), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(bools(logical_and(a, b)), (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(bools(logical_or(a, b)), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(logical_or(b.unsqueeze(0), b.unsqueeze(1)).shape(), Shape({4, 4}));
  for (const auto& x : few_values({6, 21}, kInt64, 5)) {
    EXPECT_TRUE(exactly(logical_not(x.tensor),
                        test::map(array(x.tensor), [](double v) { return v == 0; })));
  }
}

TEST(AnyAllTest, OverAnyAxesOfEveryLayout) {
  const auto any_of = [](const std::vector<double>& v) {
    return std::any_of(v.begin(), v.end(), [](double x) { return x != 0; });
  };
  const auto all_of = [](const std::vector<double>& v) {
    return std::all_of(v.begin(), v.end(), [](double x) { return x != 0; });
  };
  for (const DType dtype : {kBool, kInt64, kFloat32}) {
    for (const Shape& shape : {Shape{3, 2, 4}, Shape{2, 0, 3}}) {
      for (const auto& x : few_values(shape, dtype, 6)) {
        for (const Axes& axes : {Axes{}, Axes{0}, Axes{2}, Axes{0, 2}, Axes{1, 2}}) {
          for (const bool keepdim : {false, true}) {
            SCOPED_TRACE(testing::Message() << dtype << shape << x.name << " over " << axes);
            EXPECT_TRUE(exactly(any(x.tensor, axes, keepdim),
                                test::reduce(array(x.tensor), axes, keepdim, any_of)));
            EXPECT_TRUE(exactly(all(x.tensor, axes, keepdim),
                                test::reduce(array(x.tensor), axes, keepdim, all_of)));
          }
        }
      }
    }
  }
  EXPECT_TRUE(any(tensor(true)).item<bool>());
  EXPECT_FALSE(any(zeros({0})).item<bool>());
  EXPECT_TRUE(all(zeros({0})).item<bool>());
  fails("any", "3", [] { return any(zeros({2}), {3}); });
}

TEST(IsNaNTest, AndIsInfAndIsFinite) {
  const std::vector<double> values = {kNaN, kInf, -kInf, 0, 1e38};
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = from_vector(values).to(dtype);
    EXPECT_EQ(bools(isnan(x)), (std::vector<bool>{true, false, false, false, false}));
    EXPECT_EQ(bools(isfinite(x)), (std::vector<bool>{false, false, false, true, true}));
    EXPECT_EQ(bools(isinf(x)), (std::vector<bool>{false, true, true, false, false}));
    EXPECT_EQ(bools(isnan(x.slice(0, {}, {}, -1))),
              (std::vector<bool>{false, false, false, false, true}));
  }
  EXPECT_EQ(bools(isnan(tensor({1, 2}))), (std::vector<bool>{false, false}));
  EXPECT_EQ(bools(isinf(tensor({1, 2}))), (std::vector<bool>{false, false}));
  EXPECT_EQ(bools(isfinite(tensor({1, 2}))), (std::vector<bool>{true, true}));
  fails("isinf", "undefined", [] { return isinf(Tensor{}); });
}

TEST(AllCloseTest, Tolerances) {
  const Tensor x = from_vector(std::vector<double>{1, 100});
  EXPECT_TRUE(allclose(x, x * 1.0));
  EXPECT_TRUE(allclose(from_vector(std::vector<double>{1 + 0.9e-5}), ones({1})));
  EXPECT_FALSE(allclose(from_vector(std::vector<double>{1 + 1.1e-5}), ones({1})));
  EXPECT_TRUE(allclose(x, from_vector(std::vector<double>{1.05, 104}), 0.05, 0));
  EXPECT_FALSE(allclose(x, from_vector(std::vector<double>{1.05, 106}), 0.05, 0));
  EXPECT_TRUE(allclose(zeros({2}), full({2}, 0.1), 0, 0.11));
  EXPECT_FALSE(allclose(zeros({2}), full({2}, 0.1), 0, 0.09));
  // The tolerance is relative to b, the second operand.
  EXPECT_TRUE(allclose(tensor(10.9, kFloat64), tensor(12.0, kFloat64), 0.095, 0));
  EXPECT_FALSE(allclose(tensor(12.0, kFloat64), tensor(10.9, kFloat64), 0.095, 0));
}

TEST(AllCloseTest, SpecialValues) {
  const Tensor nan = full({}, kNaN);
  const Tensor inf = full({}, kInf);
  EXPECT_FALSE(allclose(nan, nan));
  EXPECT_TRUE(allclose(nan, nan, 1e-5, 1e-8, true));
  EXPECT_FALSE(allclose(nan, ones({}), 1e9, 1e9, true));
  EXPECT_FALSE(allclose(ones({}), nan, 1e9, 1e9, true));
  EXPECT_TRUE(allclose(inf, inf));
  EXPECT_FALSE(allclose(inf, -1 * inf));
  EXPECT_FALSE(allclose(inf, ones({}), 1, 1e300));
  EXPECT_FALSE(allclose(ones({}), inf));
  EXPECT_TRUE(allclose(zeros({0, 3}), ones({1, 3})));
  EXPECT_TRUE(allclose(ones({2, 3}), ones({3}, kInt64)));
  fails("isclose", {"(2,)", "(3,)"}, [] { return allclose(ones({2}), ones({3})); });
}

TEST(IsCloseTest, WholeNumbersAreComparedExactly) {
  const index_t large = (index_t{1} << 60) + 1;
  const index_t least = std::numeric_limits<index_t>::min();
  const index_t most = std::numeric_limits<index_t>::max();
  const Tensor a = from_vector<index_t>({large, large, least, least, most, -1, 3});
  const Tensor b = from_vector<index_t>({large, large - 1, most, least, most - 1, most, 2});
  EXPECT_EQ(bools(isclose(a, b, 0, 0)),
            (std::vector<bool>{true, false, false, true, false, false, false}));
  EXPECT_EQ(bools(isclose(a, b, 0, 1)),
            (std::vector<bool>{true, true, false, true, true, false, true}));
  EXPECT_EQ(bools(isclose(a, b, 1.5, 0)),
            (std::vector<bool>{true, true, false, true, true, true, true}));
  EXPECT_EQ(bools(isclose(a, b, 2.5, 0)), std::vector<bool>(7, true));
  EXPECT_TRUE(allclose(tensor({true, false}), tensor({1, 0}), 0, 0));
  EXPECT_FALSE(allclose(tensor({true, false}), tensor({1, 1}), 0, 0.5));
}

TEST(IsCloseTest, TolerancesThatNothingMeetsAreTheSameForEveryDType) {
  for (const DType dtype : {kInt64, kFloat64}) {
    const Tensor x = ones({1}, dtype);
    EXPECT_FALSE(allclose(x, x, 0, -1));
    EXPECT_FALSE(allclose(x, x, 0, kNaN));
    EXPECT_FALSE(allclose(x, x, kNaN, 0));
    EXPECT_TRUE(allclose(x, x, 1, -1));
  }
}

TEST(ArrayEqualTest, ShapesAndValues) {
  EXPECT_TRUE(array_equal(tensor({1, 2}), tensor({1.0, 2.0})));
  EXPECT_FALSE(array_equal(tensor({1, 2}), tensor({1, 3})));
  EXPECT_FALSE(array_equal(ones({2}), ones({1})));
  EXPECT_FALSE(array_equal(full({1}, kNaN), full({1}, kNaN)));
  EXPECT_TRUE(array_equal(zeros({0}), zeros({0})));
  EXPECT_FALSE(array_equal(zeros({0}), zeros({0, 1})));
}

TEST_P(CompareTest, WhereOfEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    for (const Shape& shape : {Shape{}, Shape{5, 37}, Shape{0, 2}}) {
      for (const auto& condition : random_layouts(shape, kBool, 7)) {
        for (const auto& a : random_layouts(shape, dtype, 8)) {
          for (const auto& b : random_layouts(shape, dtype, 9)) {
            const Tensor got = where(condition.tensor, a.tensor, b.tensor);
            const auto mask = array(condition.tensor);
            const auto x = array(a.tensor);
            const auto y = array(b.tensor);
            const auto want = test::build(shape, [&](const Dims& index) {
              return mask.at(index) != 0 ? x.at(index) : y.at(index);
            });
            ASSERT_EQ(got.dtype(), dtype);
            ASSERT_TRUE(exactly(got, want)) << condition.name << ", " << a.name << ", " << b.name;
          }
        }
      }
    }
  }
}

TEST_P(CompareTest, WhereBroadcastsAndPromotes) {
  const Tensor mask = tensor({true, false});
  const Tensor x = where(mask.unsqueeze(1), tensor({1, 2, 3}), tensor(0.5));
  EXPECT_EQ(x.dtype(), kFloat32);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 0.5, 0.5, 0.5}));
  EXPECT_EQ(where(mask, tensor({1, 2}), 7).to_vector<index_t>(), (std::vector<index_t>{1, 7}));
  EXPECT_EQ(where(mask, 7, tensor({1, 2})).to_vector<index_t>(), (std::vector<index_t>{7, 2}));
  EXPECT_EQ(where(mask, tensor({1, 2}), 0.5).dtype(), kFloat32);
  EXPECT_EQ(where(mask, 1, 0).to_vector<index_t>(), (std::vector<index_t>{1, 0}));
  // Elements that are not selected have no effect.
  EXPECT_EQ(where(mask, tensor({1.0, kNaN}), tensor({kNaN, 2.0})).to_vector<float>(),
            (std::vector<float>{1, 2}));
  fails("where", {"bool", "int64"}, [&] { return where(tensor({1, 0}), mask, mask); });
  fails("where", {"(3,)", "(2,)"}, [&] { return where(mask, ones({3}), ones({2})); });
}

TEST_P(CompareTest, MaskedFillOfEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
    for (const auto& x : random_layouts({3, 4, 19}, dtype, 10)) {
      for (const auto& mask : random_layouts({4, 19}, kBool, 11)) {
        const Tensor got = masked_fill(x.tensor, mask.tensor, -7);
        const auto want = test::map(array(x.tensor), array(mask.tensor),
                                    [](double v, double m) { return m != 0 ? -7 : v; });
        ASSERT_EQ(got.dtype(), dtype);
        ASSERT_TRUE(exactly(got, want)) << x.name << ", " << mask.name;
        ASSERT_TRUE(same_bits(got, masked_fill(x.tensor.clone(), mask.tensor.clone(), -7)));
      }
    }
  }
}

TEST(MaskedFillTest, ValuesAndErrors) {
  const Tensor mask = tensor({true, false});
  EXPECT_EQ(masked_fill(tensor({1.0, 2.0}), mask, -kInf).to_vector<float>(),
            (std::vector<float>{-std::numeric_limits<float>::infinity(), 2}));
  EXPECT_EQ(masked_fill(ones({1, 2}, kFloat64), mask, 0.1).item_at({0, 0}), 0.1);
  EXPECT_EQ(masked_fill(mask, mask, false).to_vector<bool>(), (std::vector<bool>{false, false}));
  EXPECT_EQ(masked_fill(zeros({0, 2}), mask, 1).shape(), Shape({0, 2}));
  fails("masked_fill", {"int64", "0.5"}, [&] { return masked_fill(tensor({1, 2}), mask, 0.5); });
  fails("masked_fill", {"bool", "2"}, [&] { return masked_fill(mask, mask, 2); });
  fails("masked_fill", {"must be bool", "int64"}, [&] {
    return masked_fill(ones({2}), tensor({1, 0}), 0);
  });
  fails("masked_fill", {"(3,)", "(2,)"}, [&] { return masked_fill(ones({3}), mask, 0); });
}

}  // namespace
}  // namespace tessera
