#include <bit>

#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::UnaryOp;

class MathTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, MathTest, each_isa(), isa_name);

template <class T>
std::vector<T> apply(UnaryOp op, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  kernels::table().of<T>().unary(op, static_cast<index_t>(x.size()), x.data(), 1, y.data());
  return y;
}

// Every 2039th float: all exponents, both signs, NaNs and subnormals among them.
std::vector<float> floats() {
  std::vector<float> x;
  x.reserve((std::size_t{1} << 32) / 2039 + 1);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 2039) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return x;
}

// Doubles of any bits, and dense ones where the functions bend.
std::vector<double> doubles() {
  std::vector<double> x;
  last_seed() = 7;
  std::mt19937_64 bits(7);
  for (int i = 0; i < 200000; ++i) x.push_back(std::bit_cast<double>(bits()));
  for (const double reach : {1.0, 2.0, 30.0, 750.0}) {
    for (const double value : random_values<double>(200000, 8, -reach, reach)) x.push_back(value);
  }
  return x;
}

template <class T>
std::vector<T> inputs() {
  if constexpr (std::is_same_v<T, float>) {
    return floats();
  } else {
    return doubles();
  }
}

template <class T, class Reference>
void expect_within(UnaryOp op, double ulps, const Reference& reference) {
  const std::vector<T> x = inputs<T>();
  std::vector<Wide<T>> want;
  want.reserve(x.size());
  for (const T value : x) want.push_back(reference(static_cast<Wide<T>>(value)));
  EXPECT_TRUE(near(apply(op, x), want, ulps));
}

template <class T>
class Functions {
 public:
  using W = Wide<T>;
  static void exp() {
    expect_within<T>(UnaryOp::kExp, 1.5, [](W x) { return std::exp(x); });
  }
  static void log() {
    expect_within<T>(UnaryOp::kLog, 1.5, [](W x) { return std::log(x); });
  }
  static void tanh() {
    expect_within<T>(UnaryOp::kTanh, 2, [](W x) { return std::tanh(x); });
  }
  static void erf() {
    expect_within<T>(UnaryOp::kErf, 2.5, [](W x) { return std::erf(x); });
  }
  static void sigmoid() {
    expect_within<T>(UnaryOp::kSigmoid, 3, [](W x) { return 1 / (1 + std::exp(-x)); });
  }
  // Far below 0 the rounding of the exponent, up to 88 or 709, counts: ulps as many as that, and
  // some; fewer where it is halved before.
  static constexpr double kGeluUlps = std::is_same_v<T, float> ? 100 : 800;
  static constexpr double kGeluTanhUlps = std::is_same_v<T, float> ? 300 : 2500;
  static void gelu() {
    expect_within<T>(UnaryOp::kGelu, kGeluUlps, [](W x) {
      return std::isinf(x) && x < 0 ? W{0} : x / 2 * std::erfc(-x / std::sqrt(W{2}));
    });
    expect_near_zero(UnaryOp::kGelu, 10,
                     [](W x) { return x / 2 * std::erfc(-x / std::sqrt(W{2})); });
  }
  static W gelu_tanh_reference(W x) {
    const W u = std::sqrt(2 / std::acos(W{-1})) * (x + static_cast<W>(0.044715L) * x * x * x);
    return std::isinf(x) && x < 0 ? W{0} : x / (1 + std::exp(-2 * u));
  }
  static void gelu_tanh() {
    expect_within<T>(UnaryOp::kGeluTanh, kGeluTanhUlps, gelu_tanh_reference);
    expect_near_zero(UnaryOp::kGeluTanh, 24, gelu_tanh_reference);
  }

 private:
  template <class Reference>
  static void expect_near_zero(UnaryOp op, double ulps, const Reference& reference) {
    const std::vector<T> x = random_values<T>(100000, 9, -3, 8);
    std::vector<W> want;
    for (const T value : x) want.push_back(reference(static_cast<W>(value)));
    EXPECT_TRUE(near(apply(op, x), want, ulps));
  }
};

TEST_P(MathTest, ExpOfFloats) {
  Functions<float>::exp();
}
TEST_P(MathTest, ExpOfDoubles) {
  Functions<double>::exp();
}
TEST_P(MathTest, LogOfFloats) {
  Functions<float>::log();
}
TEST_P(MathTest, LogOfDoubles) {
  Functions<double>::log();
}
TEST_P(MathTest, TanhOfFloats) {
  Functions<float>::tanh();
}
TEST_P(MathTest, TanhOfDoubles) {
  Functions<double>::tanh();
}
TEST_P(MathTest, ErfOfFloats) {
  Functions<float>::erf();
}
TEST_P(MathTest, ErfOfDoubles) {
  Functions<double>::erf();
}
TEST_P(MathTest, SigmoidOfFloats) {
  Functions<float>::sigmoid();
}
TEST_P(MathTest, SigmoidOfDoubles) {
  Functions<double>::sigmoid();
}
TEST_P(MathTest, GeluOfFloats) {
  Functions<float>::gelu();
}
TEST_P(MathTest, GeluOfDoubles) {
  Functions<double>::gelu();
}
TEST_P(MathTest, GeluTanhOfFloats) {
  Functions<float>::gelu_tanh();
}
TEST_P(MathTest, GeluTanhOfDoubles) {
  Functions<double>::gelu_tanh();
}

template <class T>
void expect_special_values() {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T tiny = std::numeric_limits<T>::denorm_min();
  const std::vector<T> x = {0, -T{0}, inf, -inf, nan};
  const auto expect = [&](UnaryOp op, const std::vector<T>& want) {
    EXPECT_TRUE(same_bits(apply(op, x), want)) << "op " << static_cast<int>(op);
  };
  expect(UnaryOp::kExp, {1, 1, inf, 0, nan});
  expect(UnaryOp::kLog, {-inf, -inf, inf, nan, nan});
  expect(UnaryOp::kTanh, {0, -T{0}, 1, -1, nan});
  expect(UnaryOp::kSqrt, {0, -T{0}, inf, nan, nan});
  expect(UnaryOp::kErf, {0, -T{0}, 1, -1, nan});
  EXPECT_EQ(apply<T>(UnaryOp::kSigmoid, {inf, -inf, T{0}}), (std::vector<T>{1, 0, T{0.5}}));
  EXPECT_EQ(apply<T>(UnaryOp::kGelu, {inf, -inf, T{0}, T{-1e4}}), (std::vector<T>{inf, 0, 0, 0}));
  EXPECT_EQ(apply<T>(UnaryOp::kGeluTanh, {inf, -inf, T{0}, T{-1e4}}),
            (std::vector<T>{inf, 0, 0, 0}));
  EXPECT_EQ(apply<T>(UnaryOp::kTanh, {tiny, -tiny}), (std::vector<T>{tiny, -tiny}));
  EXPECT_EQ(apply<T>(UnaryOp::kLog, {1}), (std::vector<T>{0}));
  for (const UnaryOp op : {UnaryOp::kErf, UnaryOp::kSigmoid, UnaryOp::kGelu, UnaryOp::kGeluTanh}) {
    EXPECT_TRUE(std::isnan(apply<T>(op, {nan})[0])) << "op " << static_cast<int>(op);
  }
}

TEST_P(MathTest, SpecialValues) {
  expect_special_values<float>();
  expect_special_values<double>();
}

TEST_P(MathTest, ExpUnderflowsGradually) {
  const std::vector<float> y =
      apply<float>(UnaryOp::kExp, {-88.0F, -103.0F, -103.9F, -104.1F, -1e9F});
  EXPECT_GT(y[0], 0.0F);
  EXPECT_LT(y[0], std::numeric_limits<float>::min());
  EXPECT_EQ(y[1], std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(y[4], 0.0F);
}

}  // namespace
}  // namespace tessera::test
