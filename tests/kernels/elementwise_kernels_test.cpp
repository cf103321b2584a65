// Kernels of two operands, comparisons and `where`, on every instruction set.
#include <array>

#include "tests/support/floats.h"
#include "tests/support/strided_row.h"

namespace tessera::test {
namespace {

using kernels::BinaryOp;
using kernels::CompareOp;

class ElementwiseKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseKernelsTest, each_isa(), isa_name);

constexpr std::array kBinaryOps = {BinaryOp::kAdd, BinaryOp::kSub,     BinaryOp::kMul,
                                   BinaryOp::kDiv, BinaryOp::kMaximum, BinaryOp::kMinimum,
                                   BinaryOp::kPow};
constexpr std::array kCompareOps = {CompareOp::kEq, CompareOp::kNe, CompareOp::kLt,
                                    CompareOp::kLe, CompareOp::kGt, CompareOp::kGe};

/// The result for one pair of numbers, on which the bits of a power depend.
template <class T>
T binary_reference(BinaryOp op, T a, T b) {
  T y = 0;
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      return a / b;
    case BinaryOp::kPow:
      table<T>().binary(op, 1, &a, 1, &b, 1, &y);
      return y;
    case BinaryOp::kMaximum:
      return a > b || std::isnan(a) ? a : b;
    case BinaryOp::kMinimum:
      return a < b || std::isnan(a) ? a : b;
  }
  return y;
}

template <class T>
bool compare_reference(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::kEq:
      return a == b;
    case CompareOp::kNe:
      return a != b;
    case CompareOp::kLt:
      return a < b;
    case CompareOp::kLe:
      return a <= b;
    case CompareOp::kGt:
      return a > b;
    case CompareOp::kGe:
      return a >= b;
  }
  return false;
}

// Small integers, so that equal pairs occur, and some NaNs.
template <class T>
std::vector<T> mixed_values(index_t n, std::uint64_t seed) {
  std::vector<T> values = random_values<T>(n, seed, -3, 3);
  for (T& value : values) {
    value = std::nearbyint(value);
    if (value == 3) value = std::numeric_limits<T>::quiet_NaN();
  }
  return values;
}

template <class T>
void expect_pairs() {
  for (const index_t n : kRowLengths) {
    const std::vector<T> lefts[] = {mixed_values<T>(n, 13), random_values<T>(n, 19, 0, 4)};
    const std::vector<T> rights[] = {mixed_values<T>(n, 14), random_values<T>(n, 20, -9, 9)};
    for (const index_t a_stride : kRowStrides) {
      for (const index_t b_stride : kRowStrides) {
        SCOPED_TRACE("n " + std::to_string(n) + ", strides " + std::to_string(a_stride) + " and " +
                     std::to_string(b_stride));
        for (const BinaryOp op : kBinaryOps) {
          const int kind = op == BinaryOp::kPow;
          StridedRow<T> a(lefts[kind], a_stride, n % 5), b(rights[kind], b_stride, n % 3);
          Guarded<T> y(n, n % 7);
          table<T>().binary(op, n, a.first(), a_stride, b.first(), b_stride, y.data());
          std::vector<T> want;
          for (index_t i = 0; i < n; ++i) {
            want.push_back(binary_reference(op, a.first()[i * a_stride], b.first()[i * b_stride]));
          }
          ASSERT_TRUE(same_bits(y.values(), want)) << "op " << static_cast<int>(op);
          ASSERT_TRUE(y.intact());
        }
        StridedRow<T> a(lefts[0], a_stride, n % 5), b(rights[0], b_stride, n % 3);
        for (const CompareOp op : kCompareOps) {
          Guarded<bool> y(n, n % 7);
          table<T>().compare(op, n, a.first(), a_stride, b.first(), b_stride, y.data());
          for (index_t i = 0; i < n; ++i) {
            ASSERT_EQ(y[i], compare_reference(op, a.first()[i * a_stride], b.first()[i * b_stride]))
                << "op " << static_cast<int>(op) << ", element " << i << "; " << circumstances();
          }
          ASSERT_TRUE(y.intact());
        }
      }
    }
  }
}

TEST_P(ElementwiseKernelsTest, PairsOfFloats) {
  expect_pairs<float>();
}
TEST_P(ElementwiseKernelsTest, PairsOfDoubles) {
  expect_pairs<double>();
}

TEST_P(ElementwiseKernelsTest, Where) {
  for_floats([]<class T>(T) {
    for (const index_t n : kRowLengths) {
      for (const index_t mask_stride : kRowStrides) {
        for (const index_t a_stride : kRowStrides) {
          SCOPED_TRACE("n " + std::to_string(n) + ", strides " + std::to_string(mask_stride) +
                       " and " + std::to_string(a_stride));
          const std::vector<T> random = random_values<T>(n, 15);
          std::vector<bool> bits;
          for (const T value : random) bits.push_back(value > 0);
          StridedRow<bool> mask(bits, mask_stride, n % 3);
          StridedRow<T> a(random_values<T>(n, 16), a_stride, n % 5);
          StridedRow<T> b(random_values<T>(n, 17), 1, n % 2);
          Guarded<T> y(n, n % 7);
          table<T>().where(n, mask.first(), mask_stride, a.first(), a_stride, b.first(), 1,
                           y.data());
          std::vector<T> want;
          for (index_t i = 0; i < n; ++i) {
            want.push_back(mask.first()[i * mask_stride] ? a.first()[i * a_stride] : b.first()[i]);
          }
          ASSERT_TRUE(same_bits(y.values(), want));
          ASSERT_TRUE(y.intact());
        }
      }
    }
  });
}

template <class T>
std::vector<T> powers(const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> z(x.size());
  table<T>().binary(BinaryOp::kPow, static_cast<index_t>(x.size()), x.data(), 1, y.data(), 1,
                    z.data());
  return z;
}

template <class T>
void expect_powers(double ulps) {
  // Exponents for which the power of each base can be anywhere between the smallest and the largest
  // number.
  const double reach = std::log(static_cast<double>(std::numeric_limits<T>::max())) * 1.02;
  std::vector<T> x = random_values<T>(100000, 31, 0, 4);
  for (const T value : random_values<T>(100000, 32, 0.99, 1.01)) x.push_back(value);
  for (const double value : random_values<double>(100000, 33, -reach, reach)) {
    x.push_back(static_cast<T>(std::exp(value)));
  }
  std::vector<T> y;
  for (const double part : random_values<double>(300000, 34)) {
    const double slope = std::fabs(std::log(static_cast<double>(x[y.size()])));
    y.push_back(static_cast<T>(part * reach / (slope + 1e-12)));
  }
  std::vector<Wide<T>> want;
  for (std::size_t i = 0; i < x.size(); ++i) {
    want.push_back(std::pow(static_cast<Wide<T>>(x[i]), static_cast<Wide<T>>(y[i])));
  }
  EXPECT_TRUE(near(powers(x, y), want, ulps));
}

TEST_P(ElementwiseKernelsTest, PowersOfFloats) {
  expect_powers<float>(0.51);
}
TEST_P(ElementwiseKernelsTest, PowersOfDoubles) {
  expect_powers<double>(1);
}

TEST_P(ElementwiseKernelsTest, SpecialPowers) {
  for_floats([]<class T>(T) {
    using Limits = std::numeric_limits<T>;
    constexpr T inf = Limits::infinity();
    std::vector<T> values = {0, 1, 2, 3, T{0.5}, T{2.5}, inf, Limits::denorm_min(), Limits::max()};
    values.push_back(std::ldexp(T{1}, Limits::digits) - 1);  // the largest odd number
    for (std::size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
    values.push_back(Limits::quiet_NaN());
    for (const T x : values) {
      for (const T y : values) {
        const Wide<T> exact = std::pow(static_cast<Wide<T>>(x), static_cast<Wide<T>>(y));
        const T got = powers<T>({x}, {y})[0];
        EXPECT_LE(ulp_error<T>(got, exact), 1) << x << " to the power " << y << ": " << got;
        if (std::isnan(got)) continue;
        EXPECT_EQ(std::signbit(got), std::signbit(exact))
            << x << " to the power " << y << ": " << got;
      }
    }
  });
}

}  // namespace
}  // namespace tessera::test
