// The gradients of arithmetic, compared with differences in every layout: see gradcheck.h.

#include "tessera/tensor/ops/ops.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

TEST(ArithmeticGradients, TwoTensorsThatBroadcast) {
  using Op = Tensor (*)(const Operand&, const Operand&);
  for (const Op op : {add, sub, mul, div, maximum, minimum}) {
    const auto f = [&](const Tensors& in) { return op(in[0], in[1]); };
    const Tensor b = values({2, 3, 4}, 5, 0.5, 2);
    EXPECT_TRUE(gradcheck(f, {values({2, 3, 4}, 4), b}));
    EXPECT_TRUE(gradcheck(f, {values({3, 1}, 4), b}));
    EXPECT_TRUE(gradcheck(f, {values({2, 1, 4}, 4), values({3, 1}, 6, 0.5, 2)}));
    EXPECT_TRUE(gradcheck(f, {values({}, 4), b}));
    EXPECT_TRUE(gradcheck(f, {b, values({}, 4, 0.5, 2)}));
  }
}

TEST(ArithmeticGradients, QuotientsRoundedDownAndRemainders) {
  // No quotient is near a whole number, where no difference exists.
  const Tensor x = values({2, 3, 4}, 4, 5.2, 5.8);
  for (const auto op : {floor_divide, remainder}) {
    const auto f = [&](const Tensors& in) { return op(in[0], in[1]); };
    EXPECT_TRUE(gradcheck(f, {x, values({3, 1}, 5, 2.05, 2.5)}));
    EXPECT_TRUE(gradcheck(f, {x, values({}, 5, -2.5, -2.05)}));
    EXPECT_TRUE(check_one([&](const Tensor& t) { return op(t, 2.2) + op(17, t - 1.6); }, x));
  }
}

TEST(ArithmeticGradients, WithNumbers) {
  const Tensor x = values({3, 4}, 7, 0.5, 3);
  EXPECT_TRUE(check_one([](const Tensor& t) { return 2 * t + 1; }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return 3 - t / 4; }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return 5 / t - t; }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return maximum(t, 1.5) + minimum(2, t); }, x));
  EXPECT_TRUE(check_one([](const Tensor& t) { return -t; }, x));
  for (double e : {2.0, 0.5, -1.0, 3.0, 1.7, -2.5, 0.0, 1.0}) {
    EXPECT_TRUE(check_one([e](const Tensor& t) { return pow(t, e); }, x)) << e;
  }
}

TEST(ArithmeticGradients, EqualsShareAMaximum) {
  const Tensor a = tensor({1.0, 2.0}, kFloat64).set_requires_grad();
  const Tensor b = tensor({1.0, 5.0}, kFloat64).set_requires_grad();
  Tape tape;
  tape.backward(sum(maximum(a, b)) + 10 * sum(minimum(a, b)));
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{5.5, 10}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{5.5, 1}));
}

TEST(ArithmeticGradients, BesideNanBothGetTheGradient) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor a = tensor({nan, 2.0}, kFloat64).set_requires_grad();
  const Tensor b = tensor({1.0, nan}, kFloat64).set_requires_grad();
  Tape tape;
  tape.backward(sum(maximum(a, b)) + 10 * sum(minimum(a, b)));  // as PyTorch
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{11, 11}));
  EXPECT_EQ(b.grad().to_vector<double>(), (std::vector<double>{11, 11}));
}

TEST(ArithmeticGradients, PowersOfTensors) {
  const auto f = [](const Tensors& in) { return pow(in[0], in[1]); };
  const Tensor base = values({2, 3, 4}, 38, 0.5, 2);
  EXPECT_TRUE(gradcheck(f, {base, values({2, 3, 4}, 39)}));
  EXPECT_TRUE(gradcheck(f, {values({3, 1}, 38, 0.5, 2), values({2, 1, 4}, 39)}));
  EXPECT_TRUE(gradcheck(f, {base, values({}, 39)}));
  EXPECT_TRUE(check_one([](const Tensor& t) { return pow(1.7, t); }, values({3, 4}, 39)));
  const Tensor whole = tensor({-2.0, 3.0, 0.0}, kFloat64);  // valid for a negative base
  EXPECT_TRUE(
      check_one([&](const Tensor& t) { return pow(t, whole); }, values({4, 3}, 40, -2, -1)));
}

TEST(ArithmeticGradients, PowersOfZeroAreFlatInTheExponent) {
  const Tensor x = tensor({0.0, 0.0, 0.0, 2.0}, kFloat64).set_requires_grad();
  const Tensor y = tensor({0.0, 1.0, 3.0, 0.0}, kFloat64).set_requires_grad();
  Tape tape;
  tape.backward(sum(pow(x, y)));
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(y.grad().to_vector<double>(), (std::vector<double>{0, 0, 0, std::log(2.0)}));
}

}  // namespace
}  // namespace tessera
