#include <array>

#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::UnaryOp;

class ElementwiseKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseKernelsTest, each_isa(), isa_name);

constexpr std::array kUnaryOps = {
    UnaryOp::kNeg,   UnaryOp::kAbs,      UnaryOp::kSign, UnaryOp::kSquare,  UnaryOp::kSqrt,
    UnaryOp::kExp,   UnaryOp::kLog,      UnaryOp::kTanh, UnaryOp::kErf,     UnaryOp::kReciprocal,
    UnaryOp::kGelu,  UnaryOp::kGeluTanh, UnaryOp::kRelu, UnaryOp::kSigmoid, UnaryOp::kRsqrt,
    UnaryOp::kExpm1, UnaryOp::kLog1p,    UnaryOp::kSin,  UnaryOp::kCos,     UnaryOp::kFloor,
    UnaryOp::kCeil,  UnaryOp::kRound,    UnaryOp::kSilu};
constexpr std::array kBinaryOps = {BinaryOp::kAdd, BinaryOp::kSub,     BinaryOp::kMul,
                                   BinaryOp::kDiv, BinaryOp::kMaximum, BinaryOp::kMinimum};
constexpr std::array kCompareOps = {CompareOp::kEq, CompareOp::kNe, CompareOp::kLt,
                                    CompareOp::kLe, CompareOp::kGt, CompareOp::kGe};
// Around the length of every vector, and of the blocks that strided rows are copied in.
constexpr std::array<index_t, 19> kLengths = {0,  1,  2,  3,  4,  5,  7,   8,   9,   15,
                                              16, 17, 31, 33, 63, 65, 511, 513, 1100};
constexpr std::array<index_t, 5> kStrides = {1, 0, 2, 5, -3};

/// A row of `values` laid out with a stride; its elements are all that may be read. Stride 0
/// repeats the first.
template <class T>
class Row {
 public:
  Row(const std::vector<T>& values, index_t stride, index_t offset)
      : n_(static_cast<index_t>(values.size())),
        stride_(stride),
        memory_(n_ == 0 ? 0 : (n_ - 1) * std::abs(stride) + 1, offset) {
    for (index_t i = 0; i < n_; ++i) {
      first()[i * stride] = values[stride == 0 ? 0 : static_cast<std::size_t>(i)];
    }
  }
  T* first() { return memory_.data() + (stride_ < 0 ? (n_ - 1) * -stride_ : 0); }
  std::vector<T> values() {
    std::vector<T> result;
    for (index_t i = 0; i < n_; ++i) result.push_back(first()[i * stride_]);
    return result;
  }

 private:
  index_t n_;
  index_t stride_;
  Guarded<T> memory_;
};

template <class T>
T unary_of_one(UnaryOp op, T x) {
  T y;
  table<T>().unary(op, 1, &x, 1, &y);
  return y;
}

// The bits of an element depend neither on its place, nor on the stride, nor on the alignment.
template <class T>
void expect_unary_is_elementwise() {
  for (const UnaryOp op : kUnaryOps) {
    SCOPED_TRACE("op " + std::to_string(static_cast<int>(op)));
    for (const index_t n : kLengths) {
      std::vector<T> values = random_values<T>(n, 11, -4, 4);
      if (n > 2) values[2] = T{1e7};  // sine and cosine compute it lane by lane
      for (const index_t stride : kStrides) {
        Row<T> x(values, stride, n % 4);
        Guarded<T> y(n, n % 3);
        table<T>().unary(op, n, x.first(), stride, y.data());
        std::vector<T> want;
        for (const T value : x.values()) want.push_back(unary_of_one(op, value));
        ASSERT_TRUE(same_bits(y.values(), want)) << "n " << n << ", stride " << stride;
        ASSERT_TRUE(y.intact()) << "n " << n << ", stride " << stride;
      }
    }
  }
}

TEST_P(ElementwiseKernelsTest, UnaryIsElementwise) {
  expect_unary_is_elementwise<float>();
  expect_unary_is_elementwise<double>();
}

TEST_P(ElementwiseKernelsTest, UnaryInPlace) {
  const std::vector<float> values = random_values<float>(37, 12);
  Guarded<float> x(values, 1);
  table<float>().unary(UnaryOp::kExp, 37, x.data(), 1, x.data());
  std::vector<float> want;
  for (const float value : values) want.push_back(unary_of_one(UnaryOp::kExp, value));
  EXPECT_TRUE(same_bits(x.values(), want));
  EXPECT_TRUE(x.intact());
}

template <class T>
void expect_simple_values() {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T inf = std::numeric_limits<T>::infinity();
  const std::vector<T> x = {2, -3, 0, -T{0}, inf, -inf, nan};
  const auto expect = [&](UnaryOp op, const std::vector<T>& want) {
    std::vector<T> y(x.size());
    table<T>().unary(op, static_cast<index_t>(x.size()), x.data(), 1, y.data());
    EXPECT_TRUE(same_bits(y, want)) << "op " << static_cast<int>(op);
  };
  expect(UnaryOp::kNeg, {-2, 3, -T{0}, 0, -inf, inf, nan});
  expect(UnaryOp::kAbs, {2, 3, 0, 0, inf, inf, nan});
  expect(UnaryOp::kSign, {1, -1, 0, -T{0}, 1, -1, nan});
  expect(UnaryOp::kSquare, {4, 9, 0, 0, inf, inf, nan});
  expect(UnaryOp::kReciprocal, {T{0.5}, T{-1} / 3, inf, -inf, 0, -T{0}, nan});
  expect(UnaryOp::kRelu, {2, 0, 0, 0, inf, 0, nan});
  expect(UnaryOp::kSqrt, {std::sqrt(T{2}), nan, 0, -T{0}, inf, nan, nan});
}

TEST_P(ElementwiseKernelsTest, SimpleValues) {
  expect_simple_values<float>();
  expect_simple_values<double>();
}

template <class T>
T binary_reference(BinaryOp op, T a, T b) {
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
      return std::pow(a, b);
    case BinaryOp::kMaximum:
      return a > b || std::isnan(a) ? a : b;
    case BinaryOp::kMinimum:
      return a < b || std::isnan(a) ? a : b;
  }
  return 0;
}

// A power's bits depend on its two numbers alone.
template <class T>
void expect_powers_are_elementwise() {
  for (const index_t n : kLengths) {
    for (const index_t x_stride : kStrides) {
      for (const index_t y_stride : kStrides) {
        Row<T> x(random_values<T>(n, 19, 0, 4), x_stride, n % 5);
        Row<T> y(random_values<T>(n, 20, -9, 9), y_stride, n % 3);
        Guarded<T> z(n, n % 7);
        table<T>().binary(BinaryOp::kPow, n, x.first(), x_stride, y.first(), y_stride, z.data());
        std::vector<T> want(static_cast<std::size_t>(n));
        for (index_t i = 0; i < n; ++i) {
          table<T>().binary(BinaryOp::kPow, 1, x.first() + i * x_stride, 1,
                            y.first() + i * y_stride, 1, &want[static_cast<std::size_t>(i)]);
        }
        ASSERT_TRUE(same_bits(z.values(), want))
            << "n " << n << ", strides " << x_stride << " and " << y_stride;
        ASSERT_TRUE(z.intact());
      }
    }
  }
}

TEST_P(ElementwiseKernelsTest, PowersAreElementwise) {
  expect_powers_are_elementwise<float>();
  expect_powers_are_elementwise<double>();
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

// Small integers, so that equal pairs occur, and a NaN now and then.
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
  for (const index_t n : kLengths) {
    for (const index_t a_stride : kStrides) {
      for (const index_t b_stride : kStrides) {
        SCOPED_TRACE("n " + std::to_string(n) + ", strides " + std::to_string(a_stride) + " and " +
                     std::to_string(b_stride));
        Row<T> a(mixed_values<T>(n, 13), a_stride, n % 5);
        Row<T> b(mixed_values<T>(n, 14), b_stride, n % 3);
        const std::vector<T> left = a.values();
        const std::vector<T> right = b.values();
        const auto size = left.size();
        for (const BinaryOp op : kBinaryOps) {
          Guarded<T> y(n, n % 7);
          table<T>().binary(op, n, a.first(), a_stride, b.first(), b_stride, y.data());
          std::vector<T> want;
          for (std::size_t i = 0; i < size; ++i) {
            want.push_back(binary_reference(op, left[i], right[i]));
          }
          ASSERT_TRUE(same_bits(y.values(), want)) << "op " << static_cast<int>(op);
          ASSERT_TRUE(y.intact());
        }
        for (const CompareOp op : kCompareOps) {
          Guarded<bool> y(n, n % 7);
          table<T>().compare(op, n, a.first(), a_stride, b.first(), b_stride, y.data());
          for (std::size_t i = 0; i < size; ++i) {
            ASSERT_EQ(y[static_cast<index_t>(i)], compare_reference(op, left[i], right[i]))
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

TEST_P(ElementwiseKernelsTest, MaximumPropagatesNanFromEitherSide) {
  const float nan = std::nanf("");
  for (index_t i = 0; i < 33; ++i) {
    for (const BinaryOp op : {BinaryOp::kMaximum, BinaryOp::kMinimum}) {
      std::vector<float> a(33, 1.0F), b(33, 2.0F), y(33);
      a[static_cast<std::size_t>(i)] = nan;
      table<float>().binary(op, 33, a.data(), 1, b.data(), 1, y.data());
      for (index_t j = 0; j < 33; ++j)
        EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(j)]), i == j);
      table<float>().binary(op, 33, b.data(), 1, a.data(), 1, y.data());
      for (index_t j = 0; j < 33; ++j)
        EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(j)]), i == j);
    }
  }
}

template <class T>
void expect_where() {
  for (const index_t n : kLengths) {
    for (const index_t mask_stride : kStrides) {
      for (const index_t a_stride : kStrides) {
        SCOPED_TRACE("n " + std::to_string(n) + ", strides " + std::to_string(mask_stride) +
                     " and " + std::to_string(a_stride));
        const std::vector<T> random = random_values<T>(n, 15);
        std::vector<bool> bits;
        for (const T value : random) bits.push_back(value > 0);
        Row<bool> mask(bits, mask_stride, n % 3);
        Row<T> a(random_values<T>(n, 16), a_stride, n % 5);
        Row<T> b(random_values<T>(n, 17), 1, n % 2);
        Guarded<T> y(n, n % 7);
        table<T>().where(n, mask.first(), mask_stride, a.first(), a_stride, b.first(), 1, y.data());
        std::vector<T> want;
        for (index_t i = 0; i < n; ++i) {
          want.push_back(mask.first()[i * mask_stride] ? a.first()[i * a_stride] : b.first()[i]);
        }
        ASSERT_TRUE(same_bits(y.values(), want));
        ASSERT_TRUE(y.intact());
      }
    }
  }
}

TEST_P(ElementwiseKernelsTest, Where) {
  expect_where<float>();
  expect_where<double>();
}

// AVX2 and AVX-512 round alike; the baseline has no fused multiply-add.
TEST(ElementwiseKernels, SameBitsOnEveryFusedIsa) {
  const std::string before = current_isa();
  const std::vector<float> x = random_values<float>(5000, 18, -10, 10);
  for (const UnaryOp op : kUnaryOps) {
    std::vector<float> first;
    for (const std::string& isa : available_isas()) {
      if (isa == "baseline") continue;
      set_isa(isa);
      std::vector<float> y(x.size());
      table<float>().unary(op, 5000, x.data(), 1, y.data());
      if (first.empty()) first = y;
      EXPECT_TRUE(same_bits(y, first)) << "op " << static_cast<int>(op);
    }
  }
  set_isa(before);
}

}  // namespace
}  // namespace tessera::test
