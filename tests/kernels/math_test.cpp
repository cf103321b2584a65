#include <bit>

#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::BinaryOp;
using kernels::ParametricOp;
using kernels::UnaryOp;

class MathTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, MathTest, each_isa(), isa_name);

template <class T>
std::vector<T> compute(UnaryOp op, const std::vector<T>& x) {
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
void expect_within(UnaryOp op, double ulps, const Reference& reference, double absolute = 0) {
  const std::vector<T> x = inputs<T>();
  std::vector<Wide<T>> want;
  want.reserve(x.size());
  for (const T value : x) want.push_back(reference(static_cast<Wide<T>>(value)));
  EXPECT_TRUE(near(compute(op, x), want, ulps, absolute));
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
  static void expm1() {
    expect_within<T>(UnaryOp::kExpm1, 2, [](W x) { return std::expm1(x); });
  }
  static void log1p() {
    expect_within<T>(UnaryOp::kLog1p, 2, [](W x) { return std::log1p(x); });
  }
  static void sin() {
    expect_within<T>(UnaryOp::kSin, 1.75, [](W x) { return std::sin(x); });
  }
  static void cos() {
    expect_within<T>(UnaryOp::kCos, 1.75, [](W x) { return std::cos(x); });
  }
  static void rsqrt() {
    expect_within<T>(UnaryOp::kRsqrt, 1.5, [](W x) { return 1 / std::sqrt(x); });
  }
  static void whole_numbers() {
    expect_within<T>(UnaryOp::kFloor, 0, [](W x) { return std::floor(x); });
    expect_within<T>(UnaryOp::kCeil, 0, [](W x) { return std::ceil(x); });
    expect_within<T>(UnaryOp::kRound, 0, [](W x) { return std::nearbyint(x); });
  }
  static void silu() {
    // Where exp(x) is no normal number it has lost digits, which x multiplies.
    constexpr double kTiny = static_cast<double>(std::numeric_limits<T>::denorm_min());
    expect_within<T>(
        UnaryOp::kSilu, 3.5,
        [](W x) { return std::isinf(x) && x < 0 ? W{0} : x / (1 + std::exp(-x)); }, 800 * kTiny);
  }
  static void softplus() {
    const std::vector<T> x = inputs<T>();
    std::vector<T> y(x.size());
    kernels::table().of<T>().parametric(ParametricOp::kSoftplus, 1,
                                        std::numeric_limits<T>::infinity(),
                                        static_cast<index_t>(x.size()), x.data(), 1, y.data());
    std::vector<W> want;
    for (const T value : x) {
      const W v = value;
      want.push_back((v < 0 ? 0 : v) + std::log1p(std::exp(-std::fabs(v))));
    }
    EXPECT_TRUE(near(y, want, 2.5));
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
    EXPECT_TRUE(near(compute(op, x), want, ulps));
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
TEST_P(MathTest, Expm1OfFloats) {
  Functions<float>::expm1();
}
TEST_P(MathTest, Expm1OfDoubles) {
  Functions<double>::expm1();
}
TEST_P(MathTest, Log1pOfFloats) {
  Functions<float>::log1p();
}
TEST_P(MathTest, Log1pOfDoubles) {
  Functions<double>::log1p();
}
TEST_P(MathTest, SinOfFloats) {
  Functions<float>::sin();
}
TEST_P(MathTest, SinOfDoubles) {
  Functions<double>::sin();
}
TEST_P(MathTest, CosOfFloats) {
  Functions<float>::cos();
}
TEST_P(MathTest, CosOfDoubles) {
  Functions<double>::cos();
}
TEST_P(MathTest, RsqrtOfFloats) {
  Functions<float>::rsqrt();
}
TEST_P(MathTest, RsqrtOfDoubles) {
  Functions<double>::rsqrt();
}
TEST_P(MathTest, WholeNumbersOfFloats) {
  Functions<float>::whole_numbers();
}
TEST_P(MathTest, WholeNumbersOfDoubles) {
  Functions<double>::whole_numbers();
}
TEST_P(MathTest, SiluOfFloats) {
  Functions<float>::silu();
}
TEST_P(MathTest, SiluOfDoubles) {
  Functions<double>::silu();
}
TEST_P(MathTest, SoftplusOfFloats) {
  Functions<float>::softplus();
}
TEST_P(MathTest, SoftplusOfDoubles) {
  Functions<double>::softplus();
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
    EXPECT_TRUE(same_bits(compute(op, x), want)) << "op " << static_cast<int>(op);
  };
  expect(UnaryOp::kExp, {1, 1, inf, 0, nan});
  expect(UnaryOp::kLog, {-inf, -inf, inf, nan, nan});
  expect(UnaryOp::kTanh, {0, -T{0}, 1, -1, nan});
  expect(UnaryOp::kSqrt, {0, -T{0}, inf, nan, nan});
  expect(UnaryOp::kErf, {0, -T{0}, 1, -1, nan});
  expect(UnaryOp::kSin, {0, -T{0}, nan, nan, nan});
  expect(UnaryOp::kCos, {1, 1, nan, nan, nan});
  expect(UnaryOp::kExpm1, {0, -T{0}, inf, -1, nan});
  expect(UnaryOp::kLog1p, {0, -T{0}, inf, nan, nan});
  expect(UnaryOp::kRsqrt, {inf, -inf, 0, nan, nan});
  expect(UnaryOp::kFloor, {0, -T{0}, inf, -inf, nan});
  expect(UnaryOp::kCeil, {0, -T{0}, inf, -inf, nan});
  expect(UnaryOp::kRound, {0, -T{0}, inf, -inf, nan});
  expect(UnaryOp::kSilu, {0, -T{0}, inf, -T{0}, nan});
  for (const UnaryOp op : {UnaryOp::kSin, UnaryOp::kExpm1, UnaryOp::kLog1p}) {
    EXPECT_EQ(compute<T>(op, {tiny, -tiny}), (std::vector<T>{tiny, -tiny}));
  }
  EXPECT_EQ(compute<T>(UnaryOp::kLog1p, {-1, -2})[0], -inf);
  EXPECT_TRUE(std::isnan(compute<T>(UnaryOp::kLog1p, {-1, -2})[1]));
  EXPECT_EQ(compute<T>(UnaryOp::kSigmoid, {inf, -inf, T{0}}), (std::vector<T>{1, 0, T{0.5}}));
  EXPECT_EQ(compute<T>(UnaryOp::kGelu, {inf, -inf, T{0}, T{-1e4}}), (std::vector<T>{inf, 0, 0, 0}));
  EXPECT_EQ(compute<T>(UnaryOp::kGeluTanh, {inf, -inf, T{0}, T{-1e4}}),
            (std::vector<T>{inf, 0, 0, 0}));
  EXPECT_EQ(compute<T>(UnaryOp::kTanh, {tiny, -tiny}), (std::vector<T>{tiny, -tiny}));
  EXPECT_EQ(compute<T>(UnaryOp::kLog, {1}), (std::vector<T>{0}));
  for (const UnaryOp op : {UnaryOp::kErf, UnaryOp::kSigmoid, UnaryOp::kGelu, UnaryOp::kGeluTanh}) {
    EXPECT_TRUE(std::isnan(compute<T>(op, {nan})[0])) << "op " << static_cast<int>(op);
  }
}

TEST_P(MathTest, SpecialValues) {
  expect_special_values<float>();
  expect_special_values<double>();
}

template <class T>
void expect_whole_numbers() {
  // Halves go to the even side, and what rounds to 0 keeps its sign.
  const std::vector<T> x = {T{-2.5}, T{-1.5}, T{-0.75}, T{-0.5}, T{0.25}, T{0.5}, T{1.5}, T{2.5}};
  EXPECT_TRUE(same_bits(compute<T>(UnaryOp::kRound, x), {-2, -2, -1, -T{0}, 0, 0, 2, 2}));
  EXPECT_TRUE(same_bits(compute<T>(UnaryOp::kFloor, x), {-3, -2, -1, -1, 0, 0, 1, 2}));
  EXPECT_TRUE(same_bits(compute<T>(UnaryOp::kCeil, x), {-2, -1, -T{0}, -T{0}, 1, 1, 2, 3}));
}

TEST_P(MathTest, WholeNumbersOfHalves) {
  expect_whole_numbers<float>();
  expect_whole_numbers<double>();
}

// The doubles that come nearest to a multiple of pi/2, small, medium and huge.
TEST_P(MathTest, SineAndCosineNearMultiplesOfARightAngle) {
  std::vector<double> x = {
      0x1.6ac5b262ca1ffp+849, 0x1p1023, std::numeric_limits<double>::max(), 0x1p20,
      0x1p20 + 0.5,           1e22};
  const long double right_angle = std::acos(-1.0L) / 2;
  for (long double n = 1; n < 0x1p62L; n = n * 1.37L + 1) {
    x.push_back(static_cast<double>(std::floor(n) * right_angle));
    x.push_back(-std::nextafter(x.back(), 0.0));
  }
  std::vector<long double> sines, cosines;
  for (const double value : x) {
    sines.push_back(std::sin(static_cast<long double>(value)));
    cosines.push_back(std::cos(static_cast<long double>(value)));
  }
  EXPECT_TRUE(near(compute<double>(UnaryOp::kSin, x), sines, 1.5));
  EXPECT_TRUE(near(compute<double>(UnaryOp::kCos, x), cosines, 1.5));
}

template <class T>
std::vector<T> powers(const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> z(x.size());
  kernels::table().of<T>().binary(BinaryOp::kPow, static_cast<index_t>(x.size()), x.data(), 1,
                                  y.data(), 1, z.data());
  return z;
}

template <class T>
void expect_powers(double ulps) {
  // Exponents that take each base to anywhere between the smallest and the largest number.
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

TEST_P(MathTest, PowersOfFloats) {
  expect_powers<float>(0.51);
}
TEST_P(MathTest, PowersOfDoubles) {
  expect_powers<double>(1);
}

template <class T>
void expect_special_powers() {
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
}

TEST_P(MathTest, SpecialPowers) {
  expect_special_powers<float>();
  expect_special_powers<double>();
}

TEST_P(MathTest, ExpUnderflowsGradually) {
  const std::vector<float> y =
      compute<float>(UnaryOp::kExp, {-88.0F, -103.0F, -103.9F, -104.1F, -1e9F});
  EXPECT_GT(y[0], 0.0F);
  EXPECT_LT(y[0], std::numeric_limits<float>::min());
  EXPECT_EQ(y[1], std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(y[3], 0.0F);
  EXPECT_EQ(y[4], 0.0F);
}

}  // namespace
}  // namespace tessera::test
