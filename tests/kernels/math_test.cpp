// Functions of one number and their gradients, on every instruction set: a table of functions, and
// the conditions for each.
#include <bit>
#include <numbers>
#include <variant>

#include "tests/support/floats.h"
#include "tests/support/strided_row.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using kernels::ParametricOp;
using kernels::UnaryOp;

class MathTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, MathTest, each_isa(), isa_name);

/// A function with two parameters.
struct Parametric {
  ParametricOp op;
  double p, q;
};
using Op = std::variant<UnaryOp, Parametric>;

template <class T>
void forward(const Op& op, index_t n, const T* x, index_t stride, T* y) {
  if (const UnaryOp* unary = std::get_if<UnaryOp>(&op)) {
    return table<T>().unary(*unary, n, x, stride, y);
  }
  const auto [f, p, q] = std::get<Parametric>(op);
  table<T>().parametric(f, static_cast<T>(p), static_cast<T>(q), n, x, stride, y);
}

template <class T>
void backward(const Op& op, index_t n, const T* x_or_y, index_t stride, const T* dy,
              index_t dy_stride, T* dx) {
  if (const UnaryOp* unary = std::get_if<UnaryOp>(&op)) {
    return table<T>().unary_gradient(*unary, n, x_or_y, stride, dy, dy_stride, dx);
  }
  const auto [f, p, q] = std::get<Parametric>(op);
  table<T>().parametric_gradient(f, static_cast<T>(p), static_cast<T>(q), n, x_or_y, stride, dy,
                                 dy_stride, dx);
}

template <class T>
std::vector<T> compute(const Op& op, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  forward(op, static_cast<index_t>(x.size()), x.data(), 1, y.data());
  return y;
}

/// dy times the slope at x.
template <class T>
std::vector<T> gradient(const Op& op, const std::vector<T>& x, const std::vector<T>& dy) {
  const UnaryOp* unary = std::get_if<UnaryOp>(&op);
  const bool reads_y = unary != nullptr && !kernels::gradient_reads_x(*unary);
  const std::vector<T> from = reads_y ? compute(op, x) : x;
  std::vector<T> dx(x.size());
  backward(op, static_cast<index_t>(x.size()), from.data(), 1, dy.data(), 1, dx.data());
  return dx;
}

template <class T>
struct Function {
  using W = Wide<T>;
  const char* name;
  Op op;
  double ulps;  // of the values for any number
  W (*value)(W), (*slope)(W);
  std::vector<T> special;     // the results for 0, -0, inf, -inf and NaN
  double absolute = 0;        // of the values, if this is larger
  double ulps_near_zero = 0;  // of the values in [-3, 8), if this is smaller
  double low = -12;           // the lower end of the range of slopes; the upper end is 12
};

/// log(1 + exp(x)).
template <class W>
W softplus(W x) {
  return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::fabs(x)));
}

template <class W>
W gelu(W x) {
  return std::isinf(x) && x < 0 ? W{0} : x / 2 * std::erfc(-x / std::sqrt(W{2}));
}

template <class W>
W gelu_slope(W x) {
  constexpr W kHalfSqrt = std::numbers::sqrt2_v<W> / 2;
  return std::erfc(-x * kHalfSqrt) / 2 +
         x * std::numbers::inv_sqrtpi_v<W> * kHalfSqrt * std::exp(-x * x / 2);
}

template <class W>
constexpr W kCubic = static_cast<W>(0.044715L);

template <class W>
W gelu_tanh(W x) {
  const W u = std::sqrt(2 / std::numbers::pi_v<W>) * (x + kCubic<W> * x * x * x);
  return std::isinf(x) && x < 0 ? W{0} : x / (1 + std::exp(-2 * u));
}

template <class W>
W gelu_tanh_slope(W x) {
  const W scale = std::sqrt(2 / std::numbers::pi_v<W>);
  const W t = std::tanh(scale * (x + kCubic<W> * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t) * (1 + t) * scale * (1 + 3 * kCubic<W> * x * x);
}

template <class T>
std::vector<Function<T>> functions() {
  using W = Wide<T>;
  using enum UnaryOp;
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T minus = -T{0};
  constexpr T half = T{0.5}, log2 = std::numbers::ln2_v<T>;
  constexpr double kTiny = static_cast<double>(std::numeric_limits<T>::denorm_min());
  // Far below 0 the rounding error of the exponent, up to 88 or 709, determines the error in ulps:
  // the exponent plus a few; less if it is halved first.
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  constexpr double kGeluUlps = kIsFloat ? 100 : 800, kGeluTanhUlps = kIsFloat ? 300 : 2500;
  const auto zero = [](W) -> W { return 0; };
  // clang-format off
  return {
      {"neg", kNeg, 0, [](W x) { return -x; }, [](W) -> W { return -1; },
       {minus, 0, -inf, inf, nan}},
      {"abs", kAbs, 0, [](W x) { return std::fabs(x); }, [](W x) -> W { return x < 0 ? -1 : 1; },
       {0, 0, inf, inf, nan}},
      {"sign", kSign, 0, [](W x) { return x > 0 ? 1 : x < 0 ? -1 : x; }, zero,
       {0, minus, 1, -1, nan}},
      {"floor", kFloor, 0, [](W x) { return std::floor(x); }, zero, {0, minus, inf, -inf, nan}},
      {"ceil", kCeil, 0, [](W x) { return std::ceil(x); }, zero, {0, minus, inf, -inf, nan}},
      {"round", kRound, 0, [](W x) { return std::nearbyint(x); }, zero, {0, minus, inf, -inf, nan}},
      {"relu", kRelu, 0, [](W x) { return x < 0 ? 0 : x; }, [](W x) -> W { return x > 0; },
       {0, 0, inf, 0, nan}},
      {"square", kSquare, 0.51, [](W x) { return x * x; }, [](W x) { return 2 * x; },
       {0, 0, inf, inf, nan}},
      {"reciprocal", kReciprocal, 0.51, [](W x) { return 1 / x; }, [](W x) { return -1 / (x * x); },
       {inf, -inf, 0, minus, nan}},
      {"sqrt", kSqrt, 0.51, [](W x) { return std::sqrt(x); },
       [](W x) { return 1 / (2 * std::sqrt(x)); }, {0, minus, inf, nan, nan}, 0, 0, 0.01},
      {"rsqrt", kRsqrt, 1.5, [](W x) { return 1 / std::sqrt(x); },
       [](W x) { return -1 / (2 * x * std::sqrt(x)); }, {inf, -inf, 0, nan, nan}, 0, 0, 0.01},
      {"exp", kExp, 1.5, [](W x) { return std::exp(x); }, [](W x) { return std::exp(x); },
       {1, 1, inf, 0, nan}},
      {"expm1", kExpm1, 2, [](W x) { return std::expm1(x); }, [](W x) { return std::exp(x); },
       {0, minus, inf, -1, nan}},
      {"log", kLog, 1.5, [](W x) { return std::log(x); }, [](W x) { return 1 / x; },
       {-inf, -inf, inf, nan, nan}, 0, 0, 0.01},
      {"log1p", kLog1p, 2, [](W x) { return std::log1p(x); }, [](W x) { return 1 / (1 + x); },
       {0, minus, inf, nan, nan}, 0, 0, 0.01},
      {"sin", kSin, 1.75, [](W x) { return std::sin(x); }, [](W x) { return std::cos(x); },
       {0, minus, nan, nan, nan}},
      {"cos", kCos, 1.75, [](W x) { return std::cos(x); }, [](W x) { return -std::sin(x); },
       {1, 1, nan, nan, nan}},
      {"tanh", kTanh, 2, [](W x) { return std::tanh(x); },
       [](W x) { return 1 / (std::cosh(x) * std::cosh(x)); }, {0, minus, 1, -1, nan}},
      {"sigmoid", kSigmoid, 3, [](W x) { return 1 / (1 + std::exp(-x)); },
       [](W x) { return 1 / ((1 + std::exp(-x)) * (1 + std::exp(x))); }, {half, half, 1, 0, nan}},
      {"erf", kErf, 2.5, [](W x) { return std::erf(x); },
       [](W x) { return 2 * std::numbers::inv_sqrtpi_v<W> * std::exp(-x * x); },
       {0, minus, 1, -1, nan}},
      // If exp(x) is not a normal number, it has lost digits, which x multiplies.
      {"silu", kSilu, 3.5, [](W x) { return std::isinf(x) && x < 0 ? 0 : x / (1 + std::exp(-x)); },
       [](W x) { return (1 + x / (1 + std::exp(x))) / (1 + std::exp(-x)); },
       {0, minus, inf, minus, nan}, 800 * kTiny},
      {"gelu", kGelu, kGeluUlps, gelu<W>, gelu_slope<W>, {0, minus, inf, 0, nan}, 0, 10},
      {"gelu_tanh", kGeluTanh, kGeluTanhUlps, gelu_tanh<W>, gelu_tanh_slope<W>,
       {0, minus, inf, minus, nan}, 0, 24},
      {"softplus", Parametric{ParametricOp::kSoftplus, 1, double{inf}}, 2.5, softplus<W>,
       [](W x) { return 1 / (1 + std::exp(-x)); }, {log2, log2, inf, 0, nan}},
  };
  // clang-format on
}

// Every 2039th float: all exponents, both signs, including NaNs and subnormals.
std::vector<float> numbers(float) {
  std::vector<float> x;
  x.reserve((std::size_t{1} << 32) / 2039 + 1);
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 2039) {
    x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return x;
}

// Doubles with random bits, and dense ones in the curved ranges of the functions.
std::vector<double> numbers(double) {
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
std::vector<Wide<T>> each_of(Wide<T> (*f)(Wide<T>), const std::vector<T>& x) {
  std::vector<Wide<T>> y;
  y.reserve(x.size());
  for (const T value : x) y.push_back(f(static_cast<Wide<T>>(value)));
  return y;
}

template <class T>
void expect_values() {
  const std::vector<T> all = numbers(T{});
  const std::vector<T> near_zero = random_values<T>(100000, 9, -3, 8);
  for (const Function<T>& f : functions<T>()) {
    EXPECT_TRUE(near(compute(f.op, all), each_of(f.value, all), f.ulps, f.absolute)) << f.name;
    if (f.ulps_near_zero == 0) continue;
    EXPECT_TRUE(near(compute(f.op, near_zero), each_of(f.value, near_zero), f.ulps_near_zero))
        << f.name;
  }
}

TEST_P(MathTest, ValuesOfFloats) {
  expect_values<float>();
}
TEST_P(MathTest, ValuesOfDoubles) {
  expect_values<double>();
}

TEST_P(MathTest, Slopes) {
  for_floats([]<class T>(T) {
    const std::vector<T> dy = random_values<T>(20000, 54, 0.5, 2);
    for (const Function<T>& f : functions<T>()) {
      const std::vector<T> x = random_values<T>(20000, 53, f.low, 12);
      std::vector<Wide<T>> want = each_of(f.slope, x);
      for (std::size_t i = 0; i < x.size(); ++i) want[i] *= dy[i];
      const double absolute = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
      EXPECT_TRUE(near(gradient(f.op, x, dy), want, 8, absolute)) << f.name;
    }
  });
}

/// Functions with parameters, for numbers in [-30, 30).
struct ParametricFunction {
  Parametric op;
  double ulps;
};
constexpr std::array kParametric = {ParametricFunction{{ParametricOp::kLeakyRelu, 0.01, 0}, 4},
                                    ParametricFunction{{ParametricOp::kLeakyRelu, -1.5, 0}, 4},
                                    ParametricFunction{{ParametricOp::kSoftplus, 1, 20}, 4},
                                    // Far below 0 the rounding error of p x, up to 75, determines
                                    // the error.
                                    ParametricFunction{{ParametricOp::kSoftplus, 2.5, 3}, 80},
                                    ParametricFunction{{ParametricOp::kClamp, -0.5, 1.25}, 4},
                                    ParametricFunction{{ParametricOp::kClamp, 2, -1}, 4}};

/// The value and the slope at x.
template <class W>
std::array<W, 2> parametric_at(const Parametric& f, W x) {
  const W p = static_cast<W>(f.p), q = static_cast<W>(f.q);
  switch (f.op) {
    case ParametricOp::kLeakyRelu:
      return x > 0 ? std::array<W, 2>{x, 1} : std::array<W, 2>{x * p, p};
    case ParametricOp::kSoftplus:
      if (x * p > q) return {x, 1};
      return {std::log1p(std::exp(x * p)) / p, 1 / (1 + std::exp(-x * p))};
    case ParametricOp::kClamp:
      break;
  }
  return {std::min(std::max(x, p), q), static_cast<W>(x >= p && x <= q)};
}

TEST_P(MathTest, ValuesAndSlopesWithParameters) {
  for_floats([]<class T>(T) {
    const std::vector<T> x = random_values<T>(20000, 61, -30, 30);
    const std::vector<T> dy = random_values<T>(20000, 62, 0.5, 2);
    for (auto [f, ulps] : kParametric) {
      SCOPED_TRACE("op " + std::to_string(static_cast<int>(f.op)) + ", p " + std::to_string(f.p));
      f.p = static_cast<double>(static_cast<T>(f.p));
      std::vector<Wide<T>> want, slopes;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto [value, slope] = parametric_at(f, static_cast<Wide<T>>(x[i]));
        want.push_back(value);
        slopes.push_back(slope * static_cast<Wide<T>>(dy[i]));
      }
      EXPECT_TRUE(near(compute<T>(f, x), want, ulps));
      EXPECT_TRUE(near(gradient<T>(f, x, dy), slopes, ulps));
    }
  });
}

template <class T>
std::vector<Op> all_ops() {
  std::vector<Op> ops;
  for (const Function<T>& f : functions<T>()) ops.push_back(f.op);
  for (const ParametricFunction& f : kParametric) ops.push_back(f.op);
  return ops;
}

// The bits of an element do not depend on its position, the stride or the alignment.
TEST_P(MathTest, AnElementsBitsDependOnlyOnIt) {
  for_floats([]<class T>(T) {
    for (const Op& op : all_ops<T>()) {
      for (const index_t n : kRowLengths) {
        std::vector<T> values = random_values<T>(n, 11, -4, 4);
        if (n > 2) values[2] = T{1e7};  // sine and cosine compute it lane by lane
        for (const index_t stride : kRowStrides) {
          SCOPED_TRACE("op number " + std::to_string(op.index()) + ", n " + std::to_string(n) +
                       ", stride " + std::to_string(stride));
          StridedRow<T> x(values, stride, n % 4), dy(random_values<T>(n, 55), 2, n % 3);
          // The slopes of functions with parameters change at 0 and on both sides of it; roots have
          // no slope there.
          const auto [low, high] = op.index() == 0 ? std::pair(0.1, 2.0) : std::pair(-3.0, 3.0);
          StridedRow<T> x_or_y(random_values<T>(n, 56, low, high), stride, n % 4);
          Guarded<T> y(n, n % 3), dx(n, n % 5), in_place(x.values(), n % 7);
          forward(op, n, x.first(), stride, y.data());
          forward(op, n, in_place.data(), 1, in_place.data());
          backward(op, n, x_or_y.first(), stride, dy.first(), 2, dx.data());
          std::vector<T> want(static_cast<std::size_t>(n)), want_dx = want;
          for (index_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            forward(op, 1, x.first() + i * stride, 1, &want[at]);
            backward(op, 1, x_or_y.first() + i * stride, 1, dy.first() + 2 * i, 1, &want_dx[at]);
          }
          ASSERT_TRUE(same_bits(y.values(), want));
          ASSERT_TRUE(same_bits(in_place.values(), want));
          ASSERT_TRUE(same_bits(dx.values(), want_dx));
          ASSERT_TRUE(y.intact() && in_place.intact() && dx.intact());
        }
      }
    }
  });
}

// AVX2 and AVX-512 round alike; the baseline has no fused multiply-add.
TEST(Math, SameBitsOnEveryFusedIsa) {
  const std::string before = current_isa();
  const std::vector<float> x = random_values<float>(5000, 18, -10, 10);
  for (const Op& op : all_ops<float>()) {
    std::vector<float> first;
    for (const std::string& isa : available_isas()) {
      if (isa == "baseline") continue;
      set_isa(isa);
      const std::vector<float> y = compute(op, x);
      if (first.empty()) first = y;
      EXPECT_TRUE(same_bits(y, first)) << "op number " << op.index();
    }
  }
  set_isa(before);
}

TEST_P(MathTest, SpecialValues) {
  for_floats([]<class T>(T) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    constexpr T tiny = std::numeric_limits<T>::denorm_min();
    const std::vector<T> special = {0, -T{0}, inf, -inf, nan};
    for (const Function<T>& f : functions<T>()) {
      EXPECT_TRUE(same_bits(compute(f.op, special), f.special)) << f.name;
    }
    const auto expect = [&](const Op& op, const std::vector<T>& x, const std::vector<T>& want) {
      EXPECT_TRUE(same_bits(compute(op, x), want)) << op.index();
    };
    using enum UnaryOp;
    for (const UnaryOp op : {kSin, kTanh, kExpm1, kLog1p}) expect(op, {tiny, -tiny}, {tiny, -tiny});
    for (const UnaryOp op : {kGelu, kGeluTanh}) EXPECT_EQ(compute<T>(op, {T{-1e4}})[0], 0);
    expect(kLog1p, {-1, -2}, {-inf, nan});
    expect(kLog, {1}, {0});
    // Halves are rounded to even, and a result of 0 keeps the sign.
    const std::vector<T> x = {T{-2.5}, T{-1.5}, T{-0.75}, T{-0.5}, T{0.25}, T{0.5}, T{1.5}, T{2.5}};
    expect(kRound, x, {-2, -2, -1, -T{0}, 0, 0, 2, 2});
    expect(kFloor, x, {-3, -2, -1, -1, 0, 0, 1, 2});
    expect(kCeil, x, {-2, -1, -T{0}, -T{0}, 1, 1, 2, 3});
  });
}

TEST_P(MathTest, EdgesOfSlopesAndOfParameters) {
  for_floats([]<class T>(T) {
    constexpr T inf = std::numeric_limits<T>::infinity();
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    constexpr T half = T{0.5};
    const auto slopes = [](const Op& op, const std::vector<T>& x) {
      return gradient(op, x, std::vector<T>(x.size(), 3));
    };
    // Far from 0 the slopes of GELU and SiLU are constant.
    const std::vector<T> far = {-inf, -1000, 1000, inf, nan};
    for (const UnaryOp op : {UnaryOp::kGelu, UnaryOp::kGeluTanh, UnaryOp::kSilu}) {
      EXPECT_TRUE(near(slopes(op, far), std::vector<Wide<T>>{0, 0, 3, 3, nan}, 0, 1e-30));
      if (op == UnaryOp::kSilu) continue;
      EXPECT_TRUE(near(slopes(op, {-40, 40}), std::vector<Wide<T>>{0, 3}, 0, 1e-30));
    }
    EXPECT_TRUE(same_bits(slopes(UnaryOp::kRelu, {-inf, -1, 0, 1, inf, nan}), {0, 0, 0, 3, 3, 3}));

    const std::vector<T> x = {0, -T{0}, inf, -inf, nan, -1, 2};
    const Op leaky = Parametric{ParametricOp::kLeakyRelu, 0.5, 0};
    EXPECT_TRUE(same_bits(compute(leaky, x), {0, -T{0}, inf, -inf, nan, -half, 2}));
    EXPECT_TRUE(same_bits(slopes(leaky, x), {T{1.5}, T{1.5}, 3, T{1.5}, T{1.5}, T{1.5}, 3}));
    // The bounds are included, and a zero keeps its sign at the bound 0.
    const Op between = Parametric{ParametricOp::kClamp, 0, 2};
    EXPECT_TRUE(same_bits(compute(between, x), {0, -T{0}, 2, 0, nan, 0, 2}));
    EXPECT_TRUE(same_bits(slopes(between, x), {3, 3, 0, 0, 0, 0, 3}));
    const Op soft = Parametric{ParametricOp::kSoftplus, 1, 1.5};
    EXPECT_TRUE(same_bits(compute<T>(soft, {inf, -inf, nan, 2}), {inf, 0, nan, 2}));
    EXPECT_EQ(slopes(soft, {2})[0], 3);  // above the threshold
  });
}

// The doubles nearest to multiples of pi/2, small, medium and huge.
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
