#include "tessera/tensor/create.h"

#include "tests/support/test.h"

namespace tessera {
namespace {

using test::fails;

TEST(TensorFromNestedTest, TakesItsShapeFromTheNesting) {
  EXPECT_EQ(tensor(3.0).shape(), Shape{});
  EXPECT_EQ(tensor({3.0}).shape(), Shape({1}));
  EXPECT_EQ(tensor({{3.0}}).shape(), Shape({1, 1}));
  EXPECT_EQ(tensor({{1.0, 2.0}}).shape(), Shape({1, 2}));
  EXPECT_EQ(tensor({{1.0}, {2.0}}).shape(), Shape({2, 1}));
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}).shape(), Shape({2, 3}));
  EXPECT_EQ(tensor({{{1, 2}}, {{3, 4}}, {{5, 6}}}).shape(), Shape({3, 1, 2}));
  EXPECT_EQ(tensor({}).shape(), Shape({0}));
  EXPECT_EQ(tensor({{}, {}}).shape(), Shape({2, 0}));
}

TEST(TensorFromNestedTest, HoldsTheNumbersInRowMajorOrder) {
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}).to_vector<index_t>(),
            (std::vector<index_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor({{0.5, -2.0}, {3.0, 4.0}}).to_vector<float>(),
            (std::vector<float>{0.5F, -2.0F, 3.0F, 4.0F}));
  EXPECT_EQ(tensor({true, false}).to_vector<bool>(), (std::vector<bool>{true, false}));
}

TEST(TensorFromNestedTest, ChoosesTheDTypeAsPyTorch) {
  EXPECT_EQ(tensor({1, 2}).dtype(), kInt64);
  EXPECT_EQ(tensor({1, 2.5}).dtype(), kFloat32);
  EXPECT_EQ(tensor({1.0F}).dtype(), kFloat32);
  EXPECT_EQ(tensor({true, false}).dtype(), kBool);
  EXPECT_EQ(tensor({true, 2}).dtype(), kInt64);
  EXPECT_EQ(tensor({}).dtype(), kFloat32);
  EXPECT_EQ(tensor({1, 2}, kFloat64).dtype(), kFloat64);
}

TEST(TensorFromNestedTest, RoundsNoValueOnItsWay) {
  const index_t odd = (index_t{1} << 53) + 1;  // no double
  EXPECT_EQ(tensor({odd}).item<index_t>(), odd);
  EXPECT_EQ(tensor(0.1, kFloat64).item(), 0.1);
  EXPECT_EQ(tensor(0.1).item(), static_cast<double>(0.1F));
  EXPECT_EQ(tensor({2.75, -2.75}, kInt64).to_vector<index_t>(), (std::vector<index_t>{2, -2}));
}

TEST(TensorFromNestedTest, RefusesRaggedLists) {
  fails("tensor", {"equal shapes", "(2,)", "(1,)"}, [] { tensor({{1, 2}, {3}}); });
  fails("tensor", {"equal shapes", "()"}, [] { tensor({{1, 2}, 3}); });
  fails("shape", "at most 8", [] { tensor({{{{{{{{{1}}}}}}}}}); });
}

TEST(FromVectorTest, CopiesInRowMajorOrder) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6};
  const Tensor x = from_vector(values, {2, 3});
  values[0] = 9;
  EXPECT_EQ(x.dtype(), kFloat64);
  EXPECT_EQ(x.item_at({0, 0}), 1);
  EXPECT_EQ(x.item_at({1, 0}), 4);
  EXPECT_EQ(from_vector(std::vector<float>{1, 2}).shape(), Shape({2}));
  EXPECT_EQ(from_vector(std::vector<index_t>{}).shape(), Shape({0}));
  EXPECT_EQ(from_vector(std::vector<bool>{true, false}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(from_span(std::span<const double>(values).subspan(1, 2), {2, 1}).to_vector<double>(),
            (std::vector<double>{2, 3}));
}

TEST(FromVectorTest, IntegersOfOtherTypesBecomeInt64) {
  const Tensor x = from_vector(std::vector<int>{1, -2, 3, 4}, {2, 2});
  EXPECT_EQ(x.dtype(), kInt64);
  EXPECT_EQ(x.to_vector<index_t>(), (std::vector<index_t>{1, -2, 3, 4}));
  EXPECT_EQ(from_vector(std::vector<std::size_t>{5, 6}).to_vector<index_t>(),
            (std::vector<index_t>{5, 6}));
  EXPECT_EQ(from_vector(std::vector<unsigned char>{255}).item<int>(), 255);
  fails("from_vector", {"numbers must be at most 9223372036854775807, got 9223372036854775808"},
        [] { from_vector(std::vector<std::uint64_t>{std::uint64_t{1} << 63}); });
  fails("from_span", {"must be 3", "got 2"}, [] { from_vector(std::vector<int>{1, 2}, {3}); });
}

TEST(FromVectorTest, RefusesAnotherCount) {
  fails("from_span", {"must be 3", "(3,)", "got 2"}, [] {
    from_vector(std::vector<float>{1, 2}, {3});
  });
  fails("from_vector", {"must be 4", "(2, 2)", "got 1"}, [] {
    from_vector(std::vector<bool>{true}, {2, 2});
  });
}

TEST(FullTest, FillsEveryDType) {
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    const Tensor x = full({2, 3}, 1, dtype);
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_EQ(x.to(kFloat64).to_vector<double>(), std::vector<double>(6, 1.0)) << dtype;
    EXPECT_EQ(zeros({4}, dtype).to(kFloat64).to_vector<double>(), std::vector<double>(4, 0.0));
  }
  EXPECT_EQ(full({}, 0.25).item(), 0.25);
  EXPECT_EQ(ones({0, 3}).count(), 0);
  EXPECT_EQ(zeros({2}).dtype(), kFloat32);
}

TEST(FullTest, KeepsIntegersAndRefusesWhatIsNone) {
  constexpr index_t kOdd = (index_t{1} << 53) + 1;  // not a double
  EXPECT_EQ(full({2}, kOdd, kInt64).to_vector<index_t>(), std::vector<index_t>(2, kOdd));
  EXPECT_EQ(zeros({1}, kInt64).fill(-kOdd).item<index_t>(), -kOdd);
  EXPECT_EQ(full({}, 1.9, kInt64).item(), 1);
  EXPECT_EQ(full({}, true, kFloat32).item(), 1);
  for (const double value : {std::nan(""), 0x1p63, -HUGE_VAL}) {
    fails("fill", "value must fit int64, got ", [&] { full({}, value, kInt64); });
  }
  fails("to", "dtype must be one of its enum's values, got 9",
        [] { zeros({2}).to(static_cast<DType>(9)); });
}

TEST(FullTest, RefusesImpossibleShapes) {
  const index_t huge = index_t{1} << 62;
  fails("empty", "4611686018427387904", [&] { zeros({huge, huge}); });
  fails("empty", {"bytes must fit int64", "float64"}, [&] { zeros({huge}, kFloat64); });
  fails("empty", {"at least 0", "(-1,)"}, [] { zeros({-1}); });
}

TEST(LikeTest, TakesShapeAndDtype) {
  const Tensor x = Tensor::empty({3, 2}, kInt64).t();
  EXPECT_EQ(zeros_like(x).shape(), Shape({2, 3}));
  EXPECT_TRUE(zeros_like(x).is_contiguous());
  EXPECT_EQ(zeros_like(x).to_vector<index_t>(), std::vector<index_t>(6, 0));
  EXPECT_EQ(ones_like(x).to_vector<index_t>(), std::vector<index_t>(6, 1));
  EXPECT_EQ(full_like(x, -7).to_vector<index_t>(), std::vector<index_t>(6, -7));
  EXPECT_EQ(full_like(x, 0.5, kFloat64).to_vector<double>(), std::vector<double>(6, 0.5));
  EXPECT_EQ(ones_like(x, kBool).dtype(), kBool);
  EXPECT_EQ(zeros_like(x, kFloat32).dtype(), kFloat32);
  EXPECT_EQ(zeros_like(zeros({2, 0}).expand({2, 0})).shape(), Shape({2, 0}));
  fails("zeros_like", "undefined", [] { zeros_like(Tensor()); });
  fails("ones_like", "undefined", [] { ones_like(Tensor()); });
  fails("full_like", "undefined", [] { full_like(Tensor(), 1); });
}

TEST(LinspaceTest, MeetsBothEnds) {
  EXPECT_EQ(linspace(0, 1, 5, kFloat64).to_vector<double>(),
            (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(3, -1, 3).to_vector<float>(), (std::vector<float>{3, 1, -1}));
  EXPECT_EQ(linspace(2, 9, 1).to_vector<float>(), (std::vector<float>{2}));
  EXPECT_EQ(linspace(2, 9, 0).shape(), Shape({0}));
  EXPECT_EQ(linspace(0, 10, 5, kInt64).to_vector<index_t>(),
            (std::vector<index_t>{0, 2, 5, 7, 10}));
  for (const index_t count : {2, 3, 7, 50, 1000}) {
    const auto x = linspace(-0.1, 0.7, count, kFloat64).to_vector<double>();
    EXPECT_EQ(x.front(), -0.1) << count;
    EXPECT_EQ(x.back(), 0.7) << count;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto part = static_cast<double>(i) / static_cast<double>(count - 1);
      EXPECT_NEAR(x[i], -0.1 + 0.8 * part, 4e-16);
    }
  }
}

TEST(LinspaceTest, RefusesWhatHasNoEnd) {
  const double infinity = std::numeric_limits<double>::infinity();
  fails("linspace", "-1", [] { linspace(0, 1, -1); });
  fails("linspace", "0 and inf", [&] { linspace(0, infinity, 3); });
  fails("linspace", "nan", [] { linspace(std::nan(""), 1, 3); });
  fails("linspace", "must be finite", [] { linspace(-1e308, 1e308, 3); });
}

TEST(ArangeTest, StopsBeforeStop) {
  EXPECT_EQ(arange(4).to_vector<index_t>(), (std::vector<index_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(0).shape(), Shape({0}));
  EXPECT_EQ(arange(-3).shape(), Shape({0}));
  EXPECT_EQ(arange(3, kFloat32).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(arange(1, 10, 4).to_vector<index_t>(), (std::vector<index_t>{1, 5, 9}));
  EXPECT_EQ(arange(1, 9, 4).to_vector<index_t>(), (std::vector<index_t>{1, 5}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<index_t>(), (std::vector<index_t>{5, 3, 1}));
  EXPECT_EQ(arange(0, 1, 0.5).dtype(), kFloat32);
  EXPECT_EQ(arange(0.0, 1.0, 0.25).to_vector<float>(), (std::vector<float>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(2.5).to_vector<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(arange(0, 1, 0.25, kFloat64).to_vector<double>(),
            (std::vector<double>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(2, 1).shape(), Shape({0}));
  constexpr index_t kLarge = index_t{1} << 60;  // not exact in float64 plus a small number
  EXPECT_EQ(arange(kLarge, kLarge + 3).to_vector<index_t>(),
            (std::vector<index_t>{kLarge, kLarge + 1, kLarge + 2}));
  constexpr index_t kLeast = std::numeric_limits<index_t>::min();
  constexpr index_t kMost = std::numeric_limits<index_t>::max();
  EXPECT_EQ(arange(kLeast, kMost, kMost).to_vector<index_t>(),
            (std::vector<index_t>{kLeast, -1, kMost - 1}));
  EXPECT_EQ(arange(kMost, kLeast, kLeast).to_vector<index_t>(), (std::vector<index_t>{kMost, -1}));
}

TEST(ArangeTest, RefusesWhatNeverEnds) {
  const double infinity = std::numeric_limits<double>::infinity();
  fails("arange", {"step", "0"}, [] { arange(0, 1, 0); });
  fails("arange", {"finite", "0, inf"}, [&] { arange(0, infinity, 1); });
  fails("arange", {"finite", "0, -inf"}, [&] { arange(0, -infinity, 1); });
  fails("arange", "nan", [] { arange(0, std::nan(""), 1); });
  fails("arange", "at most 1e+15", [] { arange(0, 1e18, 1); });
  fails("arange", "at most 1e+15", [] { arange(index_t{1} << 62); });
  fails("arange", {"at most 9223372036854775807", "got 18446744073709551615"},
        [] { arange(std::size_t{0}, std::size_t{3}, ~std::size_t{0}); });
}

TEST(EyeTest, HasOnesOnTheDiagonal) {
  EXPECT_EQ(eye(2).to_vector<float>(), (std::vector<float>{1, 0, 0, 1}));
  EXPECT_EQ(eye(2, 3, kInt64).to_vector<index_t>(), (std::vector<index_t>{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(eye(3, 1).to_vector<float>(), (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(eye(0).shape(), Shape({0, 0}));
}

}  // namespace
}  // namespace tessera
