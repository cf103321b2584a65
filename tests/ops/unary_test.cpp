#include "tessera/tensor/ops/unary.h"

#include <numbers>

#include "tessera/tensor/ops/ops.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

struct UnaryCase {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*oracle)(double);
  bool keeps_integers;
  double low;  // the lower end of the oracle's finite range
};

double gelu_erf(double x) {
  return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double sign_of(double x) {
  return std::isnan(x) ? x : double(x > 0) - double(x < 0);
}

double softplus_of(double x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}

double sharp_softplus(double x) {
  return 3 * x > 2 ? x : std::log1p(std::exp(3 * x)) / 3;
}

double between(double x, double least, double most) {
  return std::isnan(x) ? x : std::min(std::max(x, least), most);
}

const std::vector<UnaryCase> kUnaryCases = {
    {"exp", exp, [](double x) { return std::exp(x); }, false, -9},
    {"log", log, [](double x) { return std::log(x); }, false, 0.01},
    {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, false, 0},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, false, -9},
    {"erf", erf, [](double x) { return std::erf(x); }, false, -9},
    {"abs", abs, [](double x) { return std::fabs(x); }, true, -9},
    {"square", square, [](double x) { return x * x; }, true, -9},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }, false, -9},
    {"sign", sign, sign_of, true, -9},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, false, -9},
    {"relu", relu, [](double x) { return x < 0 ? 0.0 : x; }, true, -9},
    {"expm1", expm1, [](double x) { return std::expm1(x); }, false, -9},
    {"log1p", log1p, [](double x) { return std::log1p(x); }, false, -0.9},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, false, 0.01},
    {"sin", sin, [](double x) { return std::sin(x); }, false, -9},
    {"cos", cos, [](double x) { return std::cos(x); }, false, -9},
    {"floor", floor, [](double x) { return std::floor(x); }, true, -9},
    {"ceil", ceil, [](double x) { return std::ceil(x); }, true, -9},
    {"round", round, [](double x) { return std::nearbyint(x); }, true, -9},
    {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }, false, -9},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); },
     [](double x) { return x > 0 ? x : 0.01 * x; }, false, -9},
    {"leaky_relu of slope 3", [](const Tensor& x) { return leaky_relu(x, 3); },
     [](double x) { return x > 0 ? x : 3 * x; }, false, -9},
    {"softplus", [](const Tensor& x) { return softplus(x); }, softplus_of, false, -9},
    {"softplus of 3", [](const Tensor& x) { return softplus(x, 3, 2); }, sharp_softplus, false, -9},
    {"clamp", [](const Tensor& x) { return clamp(x, -1, 2); },
     [](double x) { return between(x, -1, 2); }, true, -9},
    {"clamp from below", [](const Tensor& x) { return clamp(x, -1.5); },
     [](double x) { return between(x, -1.5, kInf); }, false, -9},
    {"clamp from above", [](const Tensor& x) { return clamp(x, {}, 2); },
     [](double x) { return between(x, -kInf, 2); }, true, -9},
    {"clamp to nothing", [](const Tensor& x) { return clamp(x, 2, -1); },
     [](double x) { return std::isnan(x) ? x : -1; }, true, -9},
    {"gelu", [](const Tensor& x) { return gelu(x); }, gelu_erf, false, -9},
    {"gelu tanh", [](const Tensor& x) { return tessera::gelu_tanh(x); }, gelu_tanh, false, -9},
};

using UnaryTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, UnaryTest, test::each_isa(), test::isa_name);

TEST_P(UnaryTest, MatchesTheOracleInEveryLayout) {
  for (const UnaryCase& c : kUnaryCases) {
    for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
      for (const Shape& shape :
           {Shape{}, Shape{1}, Shape{67}, Shape{5, 37}, Shape{0, 3}, Shape{2, 3, 5}}) {
        for (const auto& x : random_layouts(shape, dtype, 1, c.low, 9)) {
          SCOPED_TRACE(testing::Message() << c.name << " of " << dtype << shape << ", " << x.name);
          const Tensor got = c.op(x.tensor);
          const DType integers = c.keeps_integers ? kInt64 : kFloat32;
          EXPECT_EQ(got.dtype(), is_floating(dtype) ? dtype : integers);
          // GELU and log lose relative, never absolute, accuracy at and near their zeros.
          const double error = test::tolerance(got.dtype());
          ASSERT_TRUE(near(got, test::map(array(x.tensor), c.oracle), error, error));
          ASSERT_TRUE(same_bits(got, c.op(x.tensor.clone())));
          ASSERT_TRUE(got.is_contiguous());
        }
      }
    }
  }
}

TEST(UnaryGradients, OfEachFunctionAgreeWithDifferences) {
  for (const UnaryCase& c : kUnaryCases) {
    const Tensor x = c.low < -1 ? test::values({3, 5}, 8) : test::values({3, 5}, 9, 0.5, 3);
    EXPECT_TRUE(test::check_one(c.op, x)) << c.name;
  }
  const Tensor x = test::values({3, 5}, 8);
  EXPECT_TRUE(test::check_one([](const Tensor& t) { return sin(t * 100); }, x));
  EXPECT_TRUE(test::check_one([](const Tensor& t) { return cos(t * 100); }, x));
}

TEST(UnaryDTypeTest, Integers) {
  const index_t least = std::numeric_limits<index_t>::min();
  EXPECT_EQ(abs(tensor({-3, 0, 3})).to_vector<index_t>(), (std::vector<index_t>{3, 0, 3}));
  EXPECT_EQ(abs(from_vector(std::vector<index_t>{least})).item<index_t>(), least);
  EXPECT_EQ(square(tensor({-3, 4})).to_vector<index_t>(), (std::vector<index_t>{9, 16}));
  EXPECT_EQ(sign(tensor({-3, 0, 4})).to_vector<index_t>(), (std::vector<index_t>{-1, 0, 1}));
  EXPECT_EQ(relu(tensor({-3, 0, 4})).to_vector<index_t>(), (std::vector<index_t>{0, 0, 4}));
  const index_t big = (index_t{1} << 53) + 1;  // not exact in double
  const Tensor x = from_vector(std::vector<index_t>{least, big, big + 2});
  EXPECT_EQ(round(x).to_vector<index_t>(), (std::vector<index_t>{least, big, big + 2}));
  EXPECT_EQ(clamp(x, {}, big).to_vector<index_t>(), (std::vector<index_t>{least, big, big}));
  EXPECT_EQ(clamp(x, big + 1).to_vector<index_t>(),
            (std::vector<index_t>{big + 1, big + 1, big + 2}));
}

TEST(UnaryErrorTest, NamesTheOp) {
  fails("gelu", "undefined", [] { return gelu(Tensor{}); });
  fails("abs", "undefined", [] { return abs(Tensor{}); });
  fails("floor", "undefined", [] { return floor(Tensor{}); });
  fails("leaky_relu", "undefined", [] { return leaky_relu(Tensor{}); });
  fails("softplus", "undefined", [] { return softplus(Tensor{}); });
  fails("clamp", "undefined", [] { return clamp(Tensor{}, 0); });
}

TEST(UnaryErrorTest, RefusesNumbersWithoutMeaning) {
  const Tensor x = ones({2});
  fails("clamp", {"bounds", "got 0"}, [&] { return clamp(x, {}, {}); });
  fails("clamp", "NaN", [&] { return clamp(x, 0, kNaN); });
  fails("softplus", {"beta", "-1"}, [&] { return softplus(x, -1); });
  fails("softplus", {"beta", "0"}, [&] { return softplus(x, 0); });
  fails("softplus", {"beta", "inf"}, [&] { return softplus(x, kInf); });
  fails("leaky_relu", "NaN", [&] { return leaky_relu(x, kNaN); });
  fails("softplus", "threshold", [&] { return softplus(x, 1, kNaN); });
}

}  // namespace
}  // namespace tessera
