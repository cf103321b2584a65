// Kernels of two operands on every instruction set.
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

// A pair has the same bits as in a call with only this pair, at any position, stride and alignment.
// The values are in arithmetic_test.cpp.
TEST_P(ElementwiseKernelsTest, APairsBitsDependOnlyOnIt) {
  for_floats([]<class T>(T) {
    for (const index_t n : kRowLengths) {
      const std::vector<T> lefts = mixed_values<T>(n, 13), rights = mixed_values<T>(n, 14);
      for (const index_t a_stride : kRowStrides) {
        for (const index_t b_stride : kRowStrides) {
          SCOPED_TRACE("n " + std::to_string(n) + ", strides " + std::to_string(a_stride) +
                       " and " + std::to_string(b_stride));
          StridedRow<T> a(lefts, a_stride, n % 5), b(rights, b_stride, n % 3);
          const auto expect_alone = [&](auto kernel, auto op, auto result) {
            using Result = decltype(result);
            Guarded<Result> y(n, n % 7), want(n);
            kernel(op, n, a.first(), a_stride, b.first(), b_stride, y.data());
            for (index_t i = 0; i < n; ++i) {
              kernel(op, 1, a.first() + i * a_stride, 1, b.first() + i * b_stride, 1, &want[i]);
            }
            if constexpr (std::is_same_v<Result, bool>) {
              ASSERT_EQ(y.values(), want.values()) << "op " << static_cast<int>(op);
            } else {
              ASSERT_TRUE(same_bits(y.values(), want.values())) << "op " << static_cast<int>(op);
            }
            ASSERT_TRUE(y.intact());
          };
          for (const BinaryOp op : kBinaryOps) expect_alone(table<T>().binary, op, T{});
          for (const CompareOp op : kCompareOps) expect_alone(table<T>().compare, op, bool{});
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
