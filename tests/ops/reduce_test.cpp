#include "tessera/tensor/ops/reduce.h"

#include <cstdlib>

#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera {
namespace {

using namespace test;

using List = std::vector<double>;

// In long double, so that only float64's rounding errors remain.
double sum_of(const List& v) {
  return static_cast<double>(std::accumulate(v.begin(), v.end(), 0.0L));
}

double mean_of(const List& v) {
  return sum_of(v) / static_cast<double>(v.size());
}

double max_of(const List& v) {
  double best = v[0];
  for (double x : v) best = std::isnan(best) || x <= best ? best : x;
  return best;
}

double min_of(const List& v) {
  double best = v[0];
  for (double x : v) best = std::isnan(best) || x >= best ? best : x;
  return best;
}

double argmax_of(const List& v) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[best])) break;
    if (std::isnan(v[i]) || v[i] > v[best]) best = i;
  }
  return static_cast<double>(best);
}

double argmin_of(const List& v) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (std::isnan(v[best])) break;
    if (std::isnan(v[i]) || v[i] < v[best]) best = i;
  }
  return static_cast<double>(best);
}

double prod_of(const List& v) {
  return static_cast<double>(std::accumulate(v.begin(), v.end(), 1.0L, std::multiplies<>()));
}

double deviations_of(const List& v) {
  const auto mean = std::accumulate(v.begin(), v.end(), 0.0L) / static_cast<long double>(v.size());
  long double total = 0;
  for (double x : v) total += (x - mean) * (x - mean);
  return static_cast<double>(total);
}

double var_of(const List& v) {
  return deviations_of(v) / std::max(static_cast<double>(v.size()) - 1, 0.0);
}

double population_var_of(const List& v) {
  return deviations_of(v) / static_cast<double>(v.size());
}

double norm_of(const List& v) {
  return static_cast<double>(std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0L)));
}

enum class Result { kSame, kWide, kFloating, kIndex };

struct ReduceCase {
  const char* name;
  Tensor (*op)(const Tensor&, const Axes&, bool);
  double (*oracle)(const List&);
  Result result;
  bool of_none;  // whether it is defined without elements
};

DType result_dtype(Result result, DType dtype) {
  if (result == Result::kIndex) return kInt64;
  if (result == Result::kSame || is_floating(dtype)) return dtype;
  return result == Result::kWide ? kInt64 : kFloat32;
}

const std::vector<ReduceCase> kCases = {
    {"sum", sum, sum_of, Result::kWide, true},
    {"mean", mean, mean_of, Result::kFloating, true},
    {"max", max, max_of, Result::kSame, false},
    {"min", min, min_of, Result::kSame, false},
    {"argmax", argmax, argmax_of, Result::kIndex, false},
    {"argmin", argmin, argmin_of, Result::kIndex, false},
    {"var", [](const Tensor& x, const Axes& a, bool k) { return var(x, a, k); }, var_of,
     Result::kFloating, true},
    {"population var", [](const Tensor& x, const Axes& a, bool k) { return var(x, a, k, 0); },
     population_var_of, Result::kFloating, true},
    {"std_dev", [](const Tensor& x, const Axes& a, bool k) { return std_dev(x, a, k); },
     [](const List& v) { return std::sqrt(var_of(v)); }, Result::kFloating, true},
    {"norm", norm, norm_of, Result::kFloating, true},
};

/// Compares one op on one tensor with the oracle, and with itself on a contiguous copy.
void check(const ReduceCase& c, const Tensor& x, const Axes& axes, bool keepdim) {
  SCOPED_TRACE(testing::Message() << c.name << " of " << x.dtype() << x.shape() << " over " << axes
                                  << (keepdim ? ", keepdim" : ""));
  const Tensor got = c.op(x, axes, keepdim);
  ASSERT_EQ(got.dtype(), result_dtype(c.result, x.dtype()));
  const double rounding = test::rounding(got.dtype());
  const double summands = static_cast<double>(x.count()) / static_cast<double>(got.count());
  ASSERT_TRUE(near(got, test::reduce(array(x), axes, keepdim, c.oracle), 16 * rounding,
                   20 * summands * rounding));
  ASSERT_TRUE(same_bits(got, c.op(x.clone(), axes, keepdim)));
  ASSERT_TRUE(got.is_contiguous());
}

using ReduceTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ReduceTest, test::each_isa(), test::isa_name);

TEST_P(ReduceTest, OverAnyAxesOfEveryLayout) {
  const std::vector<Axes> subsets = {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    for (const Shape& shape : {Shape{3, 5, 37}, Shape{33, 2, 18}, Shape{1, 4, 1}}) {
      for (const auto& x : random_layouts(shape, dtype, 1, -9, 9)) {
        for (const Axes& axes : subsets) {
          for (const ReduceCase& c : kCases) {
            SCOPED_TRACE(x.name);
            check(c, x.tensor, axes, axes.size() == 1);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(ReduceTest, EveryLengthAroundTheVirtualLanesAndBlocks) {
  std::vector<index_t> lengths = {511, 512, 513, 528, 1025, 3000};
  for (index_t n = 1; n <= 70; ++n) lengths.push_back(n);
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const index_t n : lengths) {
      for (const auto& x : random_layouts({n, 3}, dtype, 2)) {
        for (const ReduceCase& c : kCases) {
          SCOPED_TRACE(x.name);
          check(c, x.tensor, {0}, false);
          check(c, x.tensor.t(), {1}, false);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(ReduceTest, OfNoElements) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    const Tensor x = zeros({2, 0, 3}, dtype);
    for (const ReduceCase& c : kCases) {
      for (const Axes& axes : {Axes{1}, Axes{}, Axes{0, 1}}) {
        if (c.of_none) {
          check(c, x, axes, false);
        } else {
          fails(c.name, "(2, 0, 3)", [&] { return c.op(x, axes, false); });
        }
      }
      // No results, although each would have elements.
      EXPECT_EQ(c.op(x, {0}, true).shape(), Shape({1, 0, 3})) << c.name;
      EXPECT_EQ(c.op(x, {2}, false).shape(), Shape({2, 0})) << c.name;
    }
  }
  EXPECT_EQ(sum(zeros({0})).item(), 0);
  EXPECT_TRUE(std::isnan(mean(zeros({0})).item()));
  EXPECT_TRUE(std::isnan(var(zeros({0})).item()));
}

TEST_P(ReduceTest, OfAScalar) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
    for (const ReduceCase& c : kCases) check(c, full({}, 5, dtype), {}, true);
  }
  EXPECT_EQ(var(tensor({1.0, 3.0}), {}, false, 3).item(), kInf);
}

TEST_P(ReduceTest, NaNAndInfinityAtEveryPlace) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const double special : {kNaN, kInf, -kInf}) {
      for (index_t n = 0; n < 40; ++n) {
        Tensor x = random_tensor({40, 2}, dtype, 3);
        x.select(0, n).select(0, 0).fill(special);
        for (const auto& layout : test::layouts_of(x)) {
          for (const ReduceCase& c : kCases) {
            SCOPED_TRACE(testing::Message() << special << " at " << n << ", " << layout.name);
            check(c, layout.tensor, {0}, false);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Rows longer than a block are divided; the result must not depend on the layout or threads.
TEST_P(ReduceTest, LongRows) {
  for (const index_t n : {65537, 140001}) {
    const Tensor x = random_tensor({2, n}, kFloat32, 4, 0, 1);
    const auto layouts = test::layouts_of(x);
    for (const ReduceCase& c : kCases) {
      SCOPED_TRACE(testing::Message() << c.name << " of rows of " << n);
      set_thread_count(1);
      const Tensor one = c.op(x, {1}, false);
      const Array want = test::reduce(array(x), {1}, false, c.oracle);
      EXPECT_TRUE(near(one, want, 1e-4));
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        for (const auto& layout : layouts) {
          EXPECT_TRUE(same_bits(c.op(layout.tensor, {1}, false), one)) << layout.name;
          EXPECT_TRUE(same_bits(c.op(layout.tensor.t(), {0}, false), one)) << layout.name;
        }
      }
      set_thread_count(0);
    }
  }
}

TEST_P(ReduceTest, LongRowsMissNoElement) {
  constexpr index_t kLength = 131073;
  for (const index_t place : {0, 65535, 65536, 131071, 131072}) {
    Tensor x = zeros({kLength, 2});
    x.select(0, place).fill(3);
    for (const Tensor& each : {x, x.t().contiguous().t()}) {
      EXPECT_EQ(sum(each, {0}).to_vector<float>(), (std::vector<float>{3, 3})) << place;
      EXPECT_EQ(max(each, {0}).to_vector<float>(), (std::vector<float>{3, 3})) << place;
      EXPECT_EQ(argmax(each, {0}).to_vector<index_t>(), (std::vector<index_t>{place, place}));
      EXPECT_EQ(sum(each).item(), 6) << place;
    }
  }
}

TEST_P(ReduceTest, ThreadsDoNotChangeBits) {
  const Tensor x = random_tensor({60, 70, 50}, kFloat32, 5);
  for (const ReduceCase& c : kCases) {
    for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}, Axes{}}) {
      SCOPED_TRACE(testing::Message() << c.name << axes);
      test::same_on_any_threads([&] { return c.op(x, axes, false); });
    }
  }
}

TEST(SumTest, OfManyKeepsItsDigits) {
  constexpr index_t kMany = 5'000'000;
  EXPECT_NEAR(sum(full({kMany}, 0.1)).item() / (kMany * double{0.1F}), 1, 1e-4);
  const index_t most = std::numeric_limits<index_t>::max();
  EXPECT_EQ(sum(from_vector(std::vector<index_t>{most, 1})).item<index_t>(),
            std::numeric_limits<index_t>::min());
  const index_t big = (index_t{1} << 53) + 1;
  EXPECT_EQ(sum(from_vector(std::vector<index_t>{big, 0})).item<index_t>(), big);
  EXPECT_EQ(max(from_vector(std::vector<index_t>{big, big - 1})).item<index_t>(), big);
}

TEST(ArgmaxTest, TheFirstOfEquals) {
  EXPECT_EQ(argmax(tensor({1.0, 3.0, 3.0, 2.0})).item<index_t>(), 1);
  EXPECT_EQ(argmax(tensor({1, 3, 3, 2})).item<index_t>(), 1);
  EXPECT_EQ(argmax(tensor({false, true, true})).item<index_t>(), 1);
  const Tensor x = tensor({{1.0, 9.0, 3.0}, {7.0, 5.0, 9.0}});
  EXPECT_EQ(argmax(x).item<index_t>(), 1);
  EXPECT_EQ(argmax(x.t()).item<index_t>(), 2);
  EXPECT_EQ(argmax(x, {-1}).to_vector<index_t>(), (std::vector<index_t>{1, 2}));
  EXPECT_EQ(argmax(x, {0}, true).shape(), Shape({1, 3}));
}

TEST(ArgminTest, TheFirstOfEquals) {
  EXPECT_EQ(argmin(tensor({2.0, 1.0, 1.0, 3.0})).item<index_t>(), 1);
  EXPECT_EQ(argmin(tensor({0.0, -0.0})).item<index_t>(), 0);
  EXPECT_EQ(argmin(tensor({2, 1, 1, 3})).item<index_t>(), 1);
  EXPECT_EQ(argmin(tensor({true, false, false})).item<index_t>(), 1);
  EXPECT_EQ(argmin(tensor({1.0, kNaN, -kInf, kNaN})).item<index_t>(), 1);
  const index_t least = std::numeric_limits<index_t>::min();
  EXPECT_EQ(argmin(from_vector(std::vector<index_t>{0, least, 1})).item<index_t>(), 1);
}

TEST(ProdTest, OverAnyAxesOfEveryLayout) {
  const ReduceCase prod_case = {"prod", prod, prod_of, Result::kWide, true};
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    for (const Shape& shape : {Shape{3, 5, 19}, Shape{1, 16, 1}, Shape{2, 15, 2}}) {
      for (const auto& x : random_layouts(shape, dtype, 8, -2, 3)) {
        for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}}) {
          SCOPED_TRACE(testing::Message() << x.name << ' ' << dtype << shape << axes);
          const Tensor got = prod(x.tensor, axes, true);
          const Array want = test::reduce(array(x.tensor), axes, true, prod_of);
          EXPECT_EQ(got.dtype(), is_floating(dtype) ? dtype : kInt64);
          const double n = static_cast<double>(x.tensor.count() / got.count());
          EXPECT_TRUE(near(got, want, 6e-8 * (dtype == kFloat32) + n * 1.2e-16));
          EXPECT_TRUE(same_bits(got, prod(x.tensor.clone(), axes, true)));
        }
      }
    }
  }
  check(prod_case, zeros({2, 0, 3}), {1}, false);
  check(prod_case, zeros({2, 0, 3}, kInt64), {}, false);
}

TEST(ProdTest, WholeNumbersWrapAndFloatsPassTheirRange) {
  EXPECT_EQ(prod(tensor({3, -4, 5})).item<index_t>(), -60);
  EXPECT_EQ(prod(full({65}, 2, kInt64)).item<index_t>(), 0);
  EXPECT_EQ(prod(full({63}, 2, kInt64)).item<index_t>(), std::numeric_limits<index_t>::min());
  EXPECT_EQ(prod(tensor(2.5)).item(), 2.5);
  EXPECT_EQ(prod(tensor({true, false})).item<index_t>(), 0);
  // The intermediate product overflows float32, but not double.
  EXPECT_EQ(prod(tensor({0x1p100, 0x1p100, 0x1p-100, 0x1p-100})).item(), 1);
  EXPECT_TRUE(std::isnan(prod(tensor({kNaN, 0.0})).item()));
  EXPECT_EQ(prod(tensor({kInf, -2.0})).item(), -kInf);
}

TEST(ProdTest, ThreadsDoNotChangeBits) {
  const Tensor x = random_tensor({60, 70, 50}, kFloat32, 9, -1.2, 1.2);
  for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}}) {
    SCOPED_TRACE(axes);
    test::same_on_any_threads([&] { return prod(x, axes); });
  }
}

TEST(ProdTest, Errors) {
  fails("prod", {"axis must be in [", "got 2"}, [] { prod(ones({2, 2}), 2); });
  fails("prod", "twice", [] { prod(ones({2, 2}), {0, 0}); });
  fails("prod", "undefined", [] { prod(Tensor()); });
}

using CumsumTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, CumsumTest, test::each_isa(), test::isa_name);

TEST_P(CumsumTest, AlongEachAxisOfEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    for (const Shape& shape : {Shape{19}, Shape{3, 5, 7}, Shape{2, 0, 3}}) {
      for (const auto& x : random_layouts(shape, dtype, 7, -9, 9)) {
        for (index_t axis = 0; axis < shape.size(); ++axis) {
          SCOPED_TRACE(testing::Message() << dtype << shape << x.name << " along " << axis);
          Array want = array(x.tensor);
          test::for_each_index(shape, [&](Dims index) {
            const Dims here = index;
            if (index[axis]-- > 0) want.at(here) += want.at(index);
          });
          const Tensor got = cumsum(x.tensor, axis - shape.size());
          EXPECT_EQ(got.dtype(), is_floating(dtype) ? dtype : kInt64);
          EXPECT_TRUE(near(got, want, test::rounding(got.dtype()), 1e-13));
          EXPECT_TRUE(same_bits(got, cumsum(x.tensor.clone(), axis)));
        }
      }
    }
  }
  fails("cumsum", "2", [] { return cumsum(ones({2, 2}), 2); });
}

TEST(ReduceErrorTest, NamesTheOp) {
  const Tensor x = ones({2, 3});
  for (const ReduceCase& c : kCases) {
    // Some ops are made of others; the error names the op that the user called.
    const std::string name = c.name == std::string("population var") ? "var" : c.name;
    fails(name, {"axis must be in [", "got 2"}, [&] { return c.op(x, {2}, false); });
    fails(name, "twice", [&] { return c.op(x, {1, -1}, false); });
    fails(name, "undefined", [&] { return c.op(Tensor{}, {}, false); });
  }
}

/// In a forked process whose first op is a parallel one: death tests run before all others.
[[noreturn]] void reduce_with_an_unknown_isa() {
  setenv("TESSERA_ISA", "sse9", 1);
  set_thread_count(2);
  try {
    sum(ones({1 << 20}));
  } catch (const std::invalid_argument&) {
    std::exit(0);
  }
  std::exit(1);
}

TEST(ReduceDeathTest, AWrongInstructionSetIsAnErrorNotTheEnd) {
  EXPECT_EXIT(reduce_with_an_unknown_isa(), ::testing::ExitedWithCode(0), "");
}

// A copy as int64 would need 40 GB.
TEST(ReduceTest, BoolsAreNotCopied) {
  const Tensor many = ones({1}, kBool).expand({5'000'000});
  const index_t before = memory_stats().peak;
  EXPECT_EQ(sum(many).item(), 5e6);
  EXPECT_EQ(argmax(many).item(), 0);
  EXPECT_EQ(argmin(many).item(), 0);
  EXPECT_EQ(prod(many).item(), 1);
  EXPECT_EQ(max(many).dtype(), kBool);
  EXPECT_LT(memory_stats().peak, before + 1'000'000);
}

TEST(ReduceTest, AVarianceTakesAnyCorrection) {
  const index_t least = std::numeric_limits<index_t>::min();
  EXPECT_NEAR(var(tensor({1.0, 3.0}), {}, false, least).item(), 0, 1e-15);
}

}  // namespace
}  // namespace tessera
