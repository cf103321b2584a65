// Arithmetic and comparisons of two operands: tensors or numbers, broadcast and promoted.
#include "tessera/tensor/ops/arithmetic.h"

#include <type_traits>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

struct BinaryCase {
  const char* name;
  Tensor (*op)(const Operand&, const Operand&);
  double (*oracle)(double, double);
  bool compares = false;  // returns bool, also for bools
};

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b);
}

double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : std::min(a, b);
}

const std::vector<BinaryCase> kCases = {
    {"add", add, [](double a, double b) { return a + b; }},
    {"sub", sub, [](double a, double b) { return a - b; }},
    {"mul", mul, [](double a, double b) { return a * b; }},
    {"div", div, [](double a, double b) { return a / b; }},
    {"maximum", maximum, larger},
    {"minimum", minimum, smaller},
    {"eq", eq, [](double a, double b) -> double { return a == b; }, true},
    {"ne", ne, [](double a, double b) -> double { return a != b; }, true},
    {"lt", lt, [](double a, double b) -> double { return a < b; }, true},
    {"le", le, [](double a, double b) -> double { return a <= b; }, true},
    {"gt", gt, [](double a, double b) -> double { return a > b; }, true},
    {"ge", ge, [](double a, double b) -> double { return a >= b; }, true},
};

/// In every layout; for comparisons small whole numbers, so that many pairs are equal.
std::vector<test::Layout> operands(const BinaryCase& c, const Shape& shape, DType dtype,
                                   std::uint64_t seed) {
  if (!c.compares) return random_layouts(shape, dtype, seed, -9, 9);
  return test::layouts_of(random_tensor(shape, kInt64, seed, 0, 4).to(dtype));
}

DType result_dtype(const BinaryCase& c, DType promoted) {
  if (c.compares) return kBool;
  return c.op == div && promoted == kInt64 ? kFloat32 : promoted;
}

using ArithmeticTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ArithmeticTest, test::each_isa(), test::isa_name);

TEST_P(ArithmeticTest, MatchesTheOracleInEveryLayout) {
  for (const BinaryCase& c : kCases) {
    for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
      if (dtype == kBool && !c.compares) continue;
      for (const Shape& shape : {Shape{}, Shape{19}, Shape{5, 41}, Shape{3, 0}, Shape{2, 3, 5}}) {
        const auto rights = operands(c, shape, dtype, 2);
        for (const auto& a : operands(c, shape, dtype, 1)) {
          for (const auto& b : rights) {
            SCOPED_TRACE(testing::Message() << c.name << " of " << dtype << shape << ", " << a.name
                                            << " with " << b.name);
            const Tensor got = c.op(a.tensor, b.tensor);
            ASSERT_EQ(got.dtype(), result_dtype(c, dtype));
            ASSERT_TRUE(near(got, test::map(array(a.tensor), array(b.tensor), c.oracle),
                             test::rounding(got.dtype())));
            ASSERT_TRUE(same_bits(got, c.op(a.tensor.clone(), b.tensor.clone())));
            ASSERT_TRUE(got.is_contiguous());
          }
        }
      }
    }
  }
}

TEST_P(ArithmeticTest, BroadcastsAndPromotes) {
  const std::vector<std::pair<Shape, Shape>> shapes = {{{4, 1, 5}, {3, 1}}, {{}, {2, 3}},
                                                       {{1}, {0}},          {{0, 1}, {1, 4}},
                                                       {{7}, {5, 7}},       {{5, 1}, {5, 70}}};
  for (const auto& [p, q] : shapes) {
    for (const DType left : {kFloat32, kInt64}) {
      for (const DType right : {kFloat32, kFloat64, kInt64, kBool}) {
        const Tensor a = random_tensor(p, left, 3, 0, 4);
        const Tensor b = random_tensor(q, right, 4, 0, 4);
        for (const BinaryCase& c : kCases) {
          SCOPED_TRACE(testing::Message() << c.name << left << p << " and " << right << q);
          const Tensor ab = c.op(a, b), ba = c.op(b, a);
          EXPECT_TRUE(near(ab, test::map(array(a), array(b), c.oracle), rounding(ab.dtype())));
          EXPECT_TRUE(near(ba, test::map(array(b), array(a), c.oracle), rounding(ba.dtype())));
        }
      }
    }
  }
}

TEST_P(ArithmeticTest, ScalarsOnEitherSide) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
    const auto whole = test::layouts_of(random_tensor({3, 21}, kInt64, 5, 1, 5).to(dtype));
    const auto any = random_layouts({3, 21}, dtype, 5, 1, 9);
    for (const BinaryCase& c : kCases) {
      for (const auto& x : c.compares ? whole : any) {
        SCOPED_TRACE(testing::Message() << c.name << " of " << dtype << ", " << x.name);
        const Array values = array(x.tensor);
        for (const double number : {2.5, 2.0}) {
          const Tensor right = c.op(x.tensor, number);
          const Tensor left = c.op(number, x.tensor);
          EXPECT_EQ(right.dtype(), result_dtype(c, dtype == kInt64 ? kFloat32 : dtype));
          EXPECT_EQ(left.dtype(), right.dtype());
          const double error = test::rounding(right.dtype());
          EXPECT_TRUE(
              near(right, test::map(values, [&](double v) { return c.oracle(v, number); }), error));
          EXPECT_TRUE(
              near(left, test::map(values, [&](double v) { return c.oracle(number, v); }), error));
        }
        EXPECT_EQ(c.op(x.tensor, 2).dtype(), result_dtype(c, dtype));
      }
    }
  }
}

TEST_P(ArithmeticTest, NaNAndInfinity) {
  const std::vector<double> specials = {kNaN, kInf, -kInf, 0.0, -0.0, 1.0, 1e30, -1e-30};
  const Tensor row = from_vector(specials);
  for (const DType dtype : {kFloat32, kFloat64}) {
    // Every pair, at every position of a vector.
    const Tensor a = row.to(dtype).unsqueeze(1).expand({8, 8}).reshape({64});
    const Tensor b = row.to(dtype).unsqueeze(0).expand({8, 8}).reshape({64});
    for (const BinaryCase& c : kCases) {
      for (const index_t shift : {0, 1, 2, 3, 5, 7}) {
        SCOPED_TRACE(testing::Message() << c.name << " of " << dtype << " from " << shift);
        const Tensor p = a.slice(0, shift);
        const Tensor q = b.slice(0, shift);
        const Array want = test::map(array(p), array(q), [&](double x, double y) {
          const double result = c.oracle(x, y);
          return dtype == kFloat32 ? double{static_cast<float>(result)} : result;
        });
        EXPECT_TRUE(exactly(c.op(p, q), want));
      }
    }
  }
}

TEST(ArithmeticDTypeTest, Promotion) {
  const auto dtype_of_sum = [](DType a, DType b) {
    return add(ones({2}, a), ones({2}, b)).dtype();
  };
  EXPECT_EQ(dtype_of_sum(kInt64, kFloat32), kFloat32);
  EXPECT_EQ(dtype_of_sum(kFloat64, kFloat32), kFloat64);
  EXPECT_EQ(dtype_of_sum(kBool, kInt64), kInt64);
  EXPECT_EQ(dtype_of_sum(kBool, kBool), kBool);
  EXPECT_EQ(div(ones({2}, kInt64), ones({2}, kBool)).dtype(), kFloat32);
  EXPECT_EQ((ones({2}, kBool) + 1).dtype(), kInt64);
  EXPECT_EQ((ones({2}, kBool) + 0.5).dtype(), kFloat32);
  EXPECT_EQ((ones({2}, kBool) * true).dtype(), kBool);
  EXPECT_EQ((ones({2}, kFloat32) * 0.1).dtype(), kFloat32);
  EXPECT_EQ((ones({2}, kFloat64) * 0.1f).dtype(), kFloat64);
  // 0.1 is rounded once, to the dtype of the tensor.
  EXPECT_EQ((ones({1}, kFloat64) * 0.1).item<double>(), 0.1);
  EXPECT_EQ((ones({1}, kFloat32) * 0.1).item<float>(), 0.1F);
}

TEST(ArithmeticDTypeTest, Bools) {
  const Tensor a = tensor({false, false, true, true});
  const Tensor b = tensor({false, true, false, true});
  const auto is = [](const Tensor& x, std::vector<bool> want) {
    return x.dtype() == kBool && x.to_vector<bool>() == want;
  };
  EXPECT_TRUE(is(a + b, {false, true, true, true}));
  EXPECT_TRUE(is(a * b, {false, false, false, true}));
  EXPECT_TRUE(is(maximum(a, b), {false, true, true, true}));
  EXPECT_TRUE(is(minimum(a, b), {false, false, false, true}));
  fails("sub", "bool", [&] { return a - b; });
  fails("neg", "bool", [&] { return -a; });
  EXPECT_EQ((a - 1).to_vector<index_t>(), (std::vector<index_t>{-1, -1, 0, 0}));
}

TEST(ArithmeticDTypeTest, IntegersAreExactAndWrap) {
  const index_t big = (index_t{1} << 53) + 1;
  const index_t most = std::numeric_limits<index_t>::max();
  const Tensor x = from_vector(std::vector<index_t>{big, most});
  EXPECT_EQ((x + 1).to_vector<index_t>(),
            (std::vector<index_t>{big + 1, std::numeric_limits<index_t>::min()}));
  EXPECT_EQ((x * 1).to_vector<index_t>()[0], big);
  EXPECT_EQ((x + big).to_vector<index_t>()[0], 2 * big);
  EXPECT_EQ((-x).to_vector<index_t>()[1], -most);
  EXPECT_EQ(maximum(x, big).to_vector<index_t>(), (std::vector<index_t>{big, most}));
}

TEST(ArithmeticDTypeTest, Operators) {
  const Tensor x = tensor({1.0, 2.0});
  const Tensor y = tensor({4.0, 8.0});
  const auto is = [](const Tensor& t, std::vector<float> want) {
    return t.to_vector<float>() == want;
  };
  EXPECT_TRUE(is(x + y, {5, 10}));
  EXPECT_TRUE(is(x - y, {-3, -6}));
  EXPECT_TRUE(is(x * y, {4, 16}));
  EXPECT_TRUE(is(x / y, {0.25, 0.25}));
  EXPECT_TRUE(is(x + 1, {2, 3}));
  EXPECT_TRUE(is(1 + x, {2, 3}));
  EXPECT_TRUE(is(x - 1, {0, 1}));
  EXPECT_TRUE(is(1 - x, {0, -1}));
  EXPECT_TRUE(is(x * 3, {3, 6}));
  EXPECT_TRUE(is(3 * x, {3, 6}));
  EXPECT_TRUE(is(x / 2, {0.5, 1}));
  EXPECT_TRUE(is(2 / x, {2, 1}));
  EXPECT_TRUE(is(-x, {-1, -2}));
}

template <class T>
concept Addable = requires(const Tensor& x, T y) {
  x + y;
  y + x;
  x < y;
  maximum(y, x);
};

// Each kind of number converts in one way; other types do not convert.
TEST(OperandTest, TensorsAndNumbersOfEveryKind) {
  static_assert(Addable<bool> && Addable<int> && Addable<unsigned> && Addable<index_t>);
  static_assert(Addable<float> && Addable<double> && Addable<Scalar> && Addable<Tensor>);
  static_assert(!Addable<const char*> && !Addable<DType> && !Addable<Shape>);
  static_assert(std::is_same_v<decltype(index_t{2} + 1), index_t>);
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_TRUE(same_bits(x + index_t{1}, tensor({2.0, 3.0})));
  EXPECT_TRUE(same_bits(true + x, tensor({2.0, 3.0})));
  EXPECT_TRUE(same_bits(x * 0.5F, tensor({0.5, 1.0})));
  EXPECT_TRUE(same_bits(Scalar(3) - x, tensor({2.0, 1.0})));
}

TEST(OperandTest, TwoNumbersGiveATensor) {
  EXPECT_TRUE(same_bits(add(1, 2), tensor(index_t{3})));
  EXPECT_TRUE(same_bits(maximum(1, 2.5), tensor(2.5F)));
  EXPECT_TRUE(same_bits(pow(2, 10), tensor(index_t{1024})));
  EXPECT_EQ(mul(true, false).dtype(), kBool);
}

TEST_P(ArithmeticTest, NegOfEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
    for (const auto& x : random_layouts({4, 35}, dtype, 6, -9, 9)) {
      EXPECT_TRUE(exactly(neg(x.tensor), test::map(array(x.tensor), [](double v) { return -v; })))
          << x.name;
    }
  }
  EXPECT_TRUE(std::signbit(neg(zeros({1})).item<float>()));
}

TEST_P(ArithmeticTest, PowOfEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64, kBool}) {
    for (const double e : {0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -2.0, 2.7}) {
      for (const auto& x : random_layouts({3, 19}, dtype, 7, 1, 5)) {
        SCOPED_TRACE(testing::Message() << dtype << " to the power " << e << ", " << x.name);
        const Tensor got = pow(x.tensor, e);
        const Array want = test::map(array(x.tensor), [&](double v) { return std::pow(v, e); });
        EXPECT_EQ(got.dtype(), is_floating(dtype) ? dtype : kFloat32);
        EXPECT_TRUE(near(got, want, 2 * test::rounding(got.dtype())));
        EXPECT_TRUE(same_bits(got, pow(x.tensor.clone(), e)));
      }
    }
  }
}

TEST_P(ArithmeticTest, PowOfTwoTensors) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const double error = 2 * test::rounding(dtype);
    for (const Shape& shape : {Shape{}, Shape{19}, Shape{5, 37}, Shape{3, 0}}) {
      const auto exponents = random_layouts(shape, dtype, 9, -4, 4);
      for (const auto& a : random_layouts(shape, dtype, 8, 0, 5)) {
        for (const auto& b : exponents) {
          SCOPED_TRACE(testing::Message()
                       << dtype << shape << ", " << a.name << " to the power " << b.name);
          const auto power = [](double x, double y) { return std::pow(x, y); };
          const Tensor got = pow(a.tensor, b.tensor);
          EXPECT_EQ(got.dtype(), dtype);
          ASSERT_TRUE(near(got, test::map(array(a.tensor), array(b.tensor), power), error));
          ASSERT_TRUE(same_bits(got, pow(a.tensor.clone(), b.tensor.clone())));
        }
      }
    }
    const Tensor a = random_tensor({4, 1, 5}, dtype, 10, 0, 5);
    const Tensor b = random_tensor({3, 1}, dtype, 11, -4, 4);
    const auto power = [](double x, double y) { return std::pow(x, y); };
    EXPECT_TRUE(near(pow(a, b), test::map(array(a), array(b), power), error));
    EXPECT_TRUE(
        near(pow(1.5, b), test::map(array(b), [](double y) { return std::pow(1.5, y); }), error));
  }
}

TEST(PowTest, DTypesOfTwoTensors) {
  const Tensor x = tensor({-3, 0, 2});
  const Tensor y = tensor({3, 0, 10});
  EXPECT_EQ(pow(x, y).to_vector<index_t>(), (std::vector<index_t>{-27, 1, 1024}));
  EXPECT_EQ(pow(tensor({3}), tensor({39})).item<index_t>(), 4052555153018976267);
  EXPECT_EQ(pow(2, y).to_vector<index_t>(), (std::vector<index_t>{8, 1, 1024}));
  EXPECT_EQ(pow(0.5, y).to_vector<float>(), (std::vector<float>{0.125F, 1, 0.0009765625F}));
  EXPECT_EQ(pow(tensor({true, false}), tensor({false, true})).to_vector<index_t>(),
            (std::vector<index_t>{1, 0}));
  EXPECT_EQ(pow(x, ones({3}, kFloat64)).dtype(), kFloat64);
  EXPECT_EQ(pow(x, ones({3})).dtype(), kFloat32);
  fails("pow", "at least 0", [&] { return pow(y, x); });
  fails("pow", "at least 0", [&] { return pow(2, x); });
  fails("pow", {"(3,)", "(2,)"}, [&] { return pow(ones({3}), ones({2})); });
  fails("pow", "undefined", [&] { return pow(x, Tensor{}); });
  fails("pow", "undefined", [&] { return pow(2, Tensor{}); });
}

TEST(PowTest, IntegersToIntegers) {
  const Tensor x = tensor({-3, 0, 2, 10});
  EXPECT_EQ(pow(x, 3).to_vector<index_t>(), (std::vector<index_t>{-27, 0, 8, 1000}));
  EXPECT_EQ(pow(x, 0).to_vector<index_t>(), (std::vector<index_t>{1, 1, 1, 1}));
  EXPECT_EQ(pow(tensor({3}), 39).item<index_t>(), 4052555153018976267);
  EXPECT_EQ(pow(tensor({true, false}), 2).to_vector<index_t>(), (std::vector<index_t>{1, 0}));
  fails("pow", "-2", [&] { return pow(x, -2); });
  EXPECT_EQ(pow(zeros({0, 3}), 2).shape(), Shape({0, 3}));
}

TEST(ArithmeticDTypeTest, UnsignedNumbersStayPositive) {
  const std::uint64_t most = std::numeric_limits<index_t>::max();
  EXPECT_EQ(Scalar(most).integer(), std::numeric_limits<index_t>::max());
  EXPECT_EQ((tensor({1}) + 2U).item<index_t>(), 3);
  fails("Scalar", "9223372036854775808", [&] { return tensor({1}) + (most + 1); });
}

TEST(FloorDivideTest, AndRemainderOfEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
    for (const Shape& shape : {Shape{}, Shape{19}, Shape{3, 0}, Shape{2, 3, 5}}) {
      const Tensor whole = random_tensor(shape, dtype, 2, -9, 9);
      const auto rights = test::layouts_of(where(eq(whole, 0), 4, whole));
      for (const auto& a : random_layouts(shape, dtype, 1, -30, 30)) {
        for (const auto& b : rights) {
          SCOPED_TRACE(testing::Message() << dtype << shape << a.name << " with " << b.name);
          const Array x = array(a.tensor), y = array(b.tensor);
          const auto quotient = [](double p, double q) { return std::floor(p / q); };
          const auto rest = [](double p, double q) { return p - q * std::floor(p / q); };
          const Tensor q = floor_divide(a.tensor, b.tensor);
          const Tensor r = remainder(a.tensor, b.tensor);
          EXPECT_EQ(q.dtype(), dtype);
          EXPECT_EQ(r.dtype(), dtype);
          EXPECT_TRUE(exactly(q, test::map(x, y, quotient)));
          EXPECT_TRUE(near(r, test::map(x, y, rest), 1e-6, 1e-13));
        }
      }
    }
  }
}

TEST(FloorDivideTest, RoundsDownAsPythonDoes) {
  const Tensor x = tensor({7, -7, 7, -7, 6});
  const Tensor by = tensor({2, 2, -2, -2, -3});
  const std::vector<index_t> quotients = {3, -4, -4, 3, -2}, rests = {1, 1, -1, -1, 0};
  EXPECT_EQ(floor_divide(x, by).to_vector<index_t>(), quotients);
  EXPECT_EQ(remainder(x, by).to_vector<index_t>(), rests);
  for (const DType dtype : {kFloat32, kFloat64}) {
    EXPECT_EQ(floor_divide(x.to(dtype), by).to(kInt64).to_vector<index_t>(), quotients);
    EXPECT_EQ(remainder(x, by.to(dtype)).to(kInt64).to_vector<index_t>(), rests);
  }
  EXPECT_EQ(floor_divide(5.5, tensor({-2.0})).item(), -3);
  EXPECT_EQ(remainder(tensor({5.5}), -2).item(), -0.5);
  // 1 / 0.1 rounds to 10, but 0.1 is a little more than a tenth.
  EXPECT_EQ(floor_divide(tensor({1.0}, kFloat64), 0.1).item(), 9);
  EXPECT_EQ(remainder(tensor({1.0}, kFloat64), 0.1).item(), 0.09999999999999995);
  EXPECT_EQ(floor_divide(tensor({true}), 2).dtype(), kInt64);
}

TEST(FloorDivideTest, IntegersAreExact) {
  const index_t big = (index_t{1} << 62) + 1, least = std::numeric_limits<index_t>::min();
  const Tensor x = from_vector(std::vector<index_t>{big, -big, least});
  EXPECT_EQ(floor_divide(x, 2).to_vector<index_t>(),
            (std::vector<index_t>{index_t{1} << 61, -(index_t{1} << 61) - 1, least / 2}));
  EXPECT_EQ(remainder(x, 2).to_vector<index_t>(), (std::vector<index_t>{1, 1, 0}));
  EXPECT_EQ(floor_divide(x, -1).to_vector<index_t>(), (std::vector<index_t>{-big, big, least}));
  EXPECT_EQ(remainder(x, -1).to_vector<index_t>(), (std::vector<index_t>{0, 0, 0}));
}

TEST(FloorDivideTest, SpecialValues) {
  const Tensor x = tensor({1.0, -1.0, 0.0, 1.0, -1.0, kInf, 1.0, -0.0});
  const Tensor by = tensor({0.0, 0.0, 0.0, kInf, kInf, 2.0, kNaN, 2.0});
  EXPECT_TRUE(
      same_bits(floor_divide(x, by), tensor({kInf, -kInf, kNaN, 0.0, -1.0, kNaN, kNaN, -0.0})));
  EXPECT_TRUE(same_bits(remainder(x, by), tensor({kNaN, kNaN, kNaN, 1.0, kInf, kNaN, kNaN, -0.0})));
  for (const auto op : {floor_divide, remainder}) {
    const char* const name = op == remainder ? "remainder" : "floor_divide";
    fails(name, {"divisors must not be 0 for integers"}, [&] { op(tensor({1, 2}), 0); });
    fails(name, {"must not both be bool"}, [&] { op(tensor({true}), tensor({true})); });
    fails(name, {"(2,)", "(3,)"}, [&] { op(ones({2}), ones({3})); });
    fails(name, {"undefined"}, [&] { op(ones({2}), Tensor()); });
  }
}

TEST(InPlaceTest, WritesIntoTheMemoryOfTheLeftSide) {
  Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor other = x;
  const auto numbers = [&] { return other.to_vector<float>(); };
  EXPECT_EQ(&(x += 1), &x);
  EXPECT_EQ(numbers(), (std::vector<float>{2, 3, 4, 5}));
  x -= tensor({1.0, 2.0});  // broadcasts
  EXPECT_EQ(numbers(), (std::vector<float>{1, 1, 3, 3}));
  x.select(1, 0) *= 4;
  EXPECT_EQ(numbers(), (std::vector<float>{4, 1, 12, 3}));
  x /= x.t();
  EXPECT_EQ(numbers(), (std::vector<float>{1, 1.0F / 12, 12, 1}));
  (x += 1) += tensor({1});
  EXPECT_EQ(x.item_at({0, 0}), 3);
  Tensor count = tensor({1, 2});
  count *= true;
  count += 3U;
  EXPECT_EQ(count.to_vector<index_t>(), (std::vector<index_t>{4, 5}));
  x += ones({2, 2}, kFloat64);
  EXPECT_EQ(x.dtype(), kFloat32);
}

TEST(InPlaceTest, KeepsShapeAndDType) {
  Tensor x = ones({3}), count = tensor({1, 2, 3}), mask = tensor({true});
  fails("operator+=",
        {"result must have the shape of x", "float32 (3,), got float32 (2, 3); write x = x + y"},
        [&] {
          x += ones({2, 3});
        });
  fails("operator-=", {"a dtype that x can hold, int64 (3,), got float32 (3,); write x = x - y"},
        [&] { count -= 0.5; });
  fails("operator/=", {"int64", "float32 (3,); write x = x / y"}, [&] { count /= 2; });
  fails("operator*=", {"bool (1,), got int64"}, [&] { mask *= 2; });
  fails("add", {"(3,)", "(4,)"}, [&] { x += ones({4}); });
  fails("add", "undefined", [&] { x += Tensor(); });
  fails("copy_from", "broadcast view", [&] { x.select(0, 1).expand({2}) += 1; });
}

TEST(InPlaceTest, ATapeRecordsNoWrites) {
  Tensor w = ones({3}).set_requires_grad();
  Tensor x = ones({3});
  {
    Tape tape;
    const std::string cure =
        "x and y must not require a gradient while a tape records, because a tape does not record "
        "writes; write x = x + y";
    fails("operator+=", cure, [&] { w += 1; });
    fails("operator+=", cure, [&] { x += w; });
    x += 1;
    const Tensor y = sum(w * x);
    x += 1;
    fails("backward", "must not be written to", [&] { tape.backward(y); });
  }
  const Tape tape;
  const NoGrad pause;
  w += 1;
  x += w;
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{5, 5, 5}));
  EXPECT_TRUE(w.requires_grad());
}

TEST(ArithmeticErrorTest, NamesTheOpAndTheShapes) {
  fails("add", {"(2, 3)", "(4,)"}, [] { return ones({2, 3}) + ones({4}); });
  fails("maximum", {"(2,)", "(3,)"}, [] { return maximum(ones({2}), ones({3})); });
  fails("mul", "undefined", [] { return Tensor{} * ones({3}); });
  fails("div", "undefined", [] { return 1 / Tensor{}; });
}

}  // namespace
}  // namespace tessera
