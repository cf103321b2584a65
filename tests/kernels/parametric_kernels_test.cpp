// Functions of one element and two numbers, and their gradients, on every instruction set.
#include <array>

#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::ParametricOp;

class ParametricKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, ParametricKernelsTest, each_isa(), isa_name);

struct Case {
  ParametricOp op;
  double p, q;
};
constexpr std::array kCases = {
    Case{ParametricOp::kLeakyRelu, 0.01, 0}, Case{ParametricOp::kLeakyRelu, -1.5, 0},
    Case{ParametricOp::kSoftplus, 1, 20},    Case{ParametricOp::kSoftplus, 2.5, 3},
    Case{ParametricOp::kClamp, -0.5, 1.25},  Case{ParametricOp::kClamp, 2, -1}};

template <class W>
W reference(const Case& c, W x) {
  const W p = static_cast<W>(c.p), q = static_cast<W>(c.q);
  switch (c.op) {
    case ParametricOp::kLeakyRelu:
      return x > 0 ? x : x * p;
    case ParametricOp::kSoftplus:
      return x * p > q ? x : std::log1p(std::exp(x * p)) / p;
    case ParametricOp::kClamp:
      break;
  }
  return std::min(std::max(x, p), q);
}

template <class W>
W slope(const Case& c, W x) {
  const W p = static_cast<W>(c.p), q = static_cast<W>(c.q);
  switch (c.op) {
    case ParametricOp::kLeakyRelu:
      return x > 0 ? 1 : p;
    case ParametricOp::kSoftplus:
      return x * p > q ? 1 : 1 / (1 + std::exp(-x * p));
    case ParametricOp::kClamp:
      break;
  }
  return x >= p && x <= q ? 1 : 0;
}

template <class T>
std::vector<T> compute(const Case& c, const std::vector<T>& x, index_t stride = 1) {
  std::vector<T> y((x.size() + static_cast<std::size_t>(stride) - 1) /
                   static_cast<std::size_t>(stride));
  kernels::table().of<T>().parametric(c.op, static_cast<T>(c.p), static_cast<T>(c.q),
                                      static_cast<index_t>(y.size()), x.data(), stride, y.data());
  return y;
}

template <class T>
std::vector<T> gradient(const Case& c, const std::vector<T>& x, const std::vector<T>& dy) {
  std::vector<T> dx(x.size());
  kernels::table().of<T>().parametric_gradient(c.op, static_cast<T>(c.p), static_cast<T>(c.q),
                                               static_cast<index_t>(x.size()), x.data(), 1,
                                               dy.data(), 1, dx.data());
  return dx;
}

template <class T>
void expect_values() {
  const std::vector<T> x = random_values<T>(20000, 61, -30, 30);
  const std::vector<T> dy = random_values<T>(20000, 62, 0.5, 2);
  for (Case c : kCases) {
    SCOPED_TRACE("op " + std::to_string(static_cast<int>(c.op)) + ", p " + std::to_string(c.p));
    c.p = static_cast<double>(static_cast<T>(c.p));
    std::vector<Wide<T>> want, slopes;
    for (std::size_t i = 0; i < x.size(); ++i) {
      want.push_back(reference(c, static_cast<Wide<T>>(x[i])));
      slopes.push_back(slope(c, static_cast<Wide<T>>(x[i])) * static_cast<Wide<T>>(dy[i]));
    }
    // Far below 0 the rounding of p x, up to 75, counts.
    EXPECT_TRUE(near(compute(c, x), want, c.p == 2.5 ? 80 : 4));
    EXPECT_TRUE(near(gradient(c, x, dy), slopes, c.p == 2.5 ? 80 : 4));
  }
}

TEST_P(ParametricKernelsTest, Values) {
  expect_values<float>();
  expect_values<double>();
}

template <class T>
void expect_parametric_edges() {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x = {0, -T{0}, inf, -inf, nan, -1, 2};
  const std::vector<T> dy(x.size(), 3);
  const Case leaky = {ParametricOp::kLeakyRelu, 0.5, 0};
  EXPECT_TRUE(same_bits(compute(leaky, x), {0, -T{0}, inf, -inf, nan, T{-0.5}, 2}));
  EXPECT_TRUE(same_bits(gradient(leaky, x, dy), {T{1.5}, T{1.5}, 3, T{1.5}, T{1.5}, T{1.5}, 3}));
  // The bounds are inside, and a zero keeps its sign beside the bound 0.
  const Case between = {ParametricOp::kClamp, 0, 2};
  EXPECT_TRUE(same_bits(compute(between, x), {0, -T{0}, 2, 0, nan, 0, 2}));
  EXPECT_TRUE(same_bits(gradient(between, x, dy), {3, 3, 0, 0, 0, 0, 3}));
  const Case soft = {ParametricOp::kSoftplus, 1, 1.5};
  const std::vector<T> y = compute(soft, x);
  EXPECT_EQ(y[2], inf);
  EXPECT_EQ(y[3], 0);
  EXPECT_TRUE(std::isnan(y[4]));
  EXPECT_EQ(y[6], 2);  // above the threshold
  EXPECT_EQ(gradient(soft, x, dy)[6], 3);
}

TEST_P(ParametricKernelsTest, Edges) {
  expect_parametric_edges<float>();
  expect_parametric_edges<double>();
}

// The bits of an element depend on it alone.
template <class T>
void expect_elementwise(const Case& c) {
  for (const index_t n : {1, 2, 5, 8, 15, 16, 17, 33, 63, 513}) {
    for (const index_t stride : {1, 3}) {
      const Guarded<T> x(random_values<T>((n - 1) * stride + 1, 63, -3, 3), n % 4);
      const Guarded<T> dy(random_values<T>(n, 64), n % 3);
      Guarded<T> y(n, n % 5), dx(n, n % 7);
      const T p = static_cast<T>(c.p), q = static_cast<T>(c.q);
      const auto& table = kernels::table().of<T>();
      table.parametric(c.op, p, q, n, x.data(), stride, y.data());
      table.parametric_gradient(c.op, p, q, n, x.data(), stride, dy.data(), 1, dx.data());
      std::vector<T> want_y, want_dx;
      for (index_t i = 0; i < n; ++i) {
        const std::vector<T> one = {x.data()[i * stride]};
        want_y.push_back(compute(c, one)[0]);
        want_dx.push_back(gradient(c, one, {dy.data()[i]})[0]);
      }
      ASSERT_TRUE(same_bits(y.values(), want_y)) << "n " << n << ", stride " << stride;
      ASSERT_TRUE(same_bits(dx.values(), want_dx)) << "n " << n << ", stride " << stride;
      ASSERT_TRUE(y.intact() && dx.intact());
    }
  }
}

TEST_P(ParametricKernelsTest, AnElementsBitsDependOnItAlone) {
  for (const Case& c : kCases) {
    expect_elementwise<float>(c);
    expect_elementwise<double>(c);
  }
}

}  // namespace
}  // namespace tessera::test
