#include "nn/training/adversarial.h"

#include "nn/nn.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using test::throws;

constexpr double kSize = 0.5;
const std::vector<double> kWeights = {3, 0, -4};  // of norm 5

// L(r) = sum over b of s_b^2 with s_b = w . (x_b + r_b), so g_b = 2 s_b w and r_b = size s_b /
// |s_b| w / |w|. In the last example s_b = 0, so r_b = 0.
struct Squares {
  Tensor w = from_vector(kWeights).set_requires_grad();
  Tensor x = from_vector(std::vector<double>{1, 7, 2, -1, 3, -2, 4, 1, 3}, {3, 3});
  std::vector<Tensor> shifts = {};

  LossSum operator()(const Tensor& shift) {
    shifts.push_back(shift.detach());
    return {.loss = sum(square(sum((x + shift) * w, {1}))), .count = 3, .correct = 2};
  }
};

TEST(AdversarialLoss, IsTheMeanOfBothLossesAndHasItsGradient) {
  Squares loss;
  Tape tape;
  const LossSum result = adversarial_loss(
      {3, 3}, kSize, [&](const Tensor& shift) { return loss(shift); }, kFloat64);
  tape.backward(result.loss);

  double want = 0;
  std::vector<double> gradient(3, 0);
  for (index_t b = 0; b < 3; ++b) {
    const auto x = [&](std::size_t j) { return loss.x.item_at({b, static_cast<index_t>(j)}); };
    double s = 0;
    for (std::size_t j = 0; j < 3; ++j) s += kWeights[j] * x(j);
    const double step = s == 0 ? 0 : kSize * s / std::abs(s) / 5;
    const double moved = s + step * 25;  // w . w = 25
    want += (s * s + moved * moved) / 2;
    for (std::size_t j = 0; j < 3; ++j) {
      const double r = step * kWeights[j];
      EXPECT_DOUBLE_EQ(loss.shifts.at(1).item_at({b, static_cast<index_t>(j)}), r);
      gradient[j] += s * x(j) + moved * (x(j) + r);
    }
  }
  EXPECT_DOUBLE_EQ(result.loss.item(), want);
  EXPECT_EQ(result.count, 3);
  EXPECT_EQ(result.correct, 2);
  for (index_t j = 0; j < 3; ++j) {
    EXPECT_DOUBLE_EQ(loss.w.grad().item_at({j}), gradient[static_cast<std::size_t>(j)]) << j;
  }
}

TEST(AdversarialLoss, FirstAsksWithoutAShift) {
  Squares loss;
  Tape tape;
  adversarial_loss(
      {3, 3}, kSize, [&](const Tensor& shift) { return loss(shift); }, kFloat64);
  ASSERT_EQ(loss.shifts.size(), 2U);
  EXPECT_EQ(max(abs(loss.shifts[0])).item(), 0);
  EXPECT_NEAR(sqrt(sum(square(loss.shifts[1]), {1})).item_at({0}), kSize, 1e-15);
}

TEST(AdversarialLoss, AsksOnceWhereThereIsNothingToLearn) {
  int calls = 0;
  const LossSum result = adversarial_loss({3, 3}, kSize, [&](const Tensor&) {
    ++calls;
    return LossSum{};
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result.count, 0);
}

TEST(AdversarialLoss, RefusesWhatItCannotMove) {
  const char* const kOp = "adversarial_loss";
  Squares squares;
  const auto loss = [&](const Tensor& shift) { return squares(shift); };
  for (const double size : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(throws(kOp, {"size"}, [&] { adversarial_loss({3, 3}, size, loss); })) << size;
  }
  EXPECT_TRUE(
      throws(kOp, {"an axis of examples, got ()"}, [&] { adversarial_loss({}, kSize, loss); }));
  EXPECT_TRUE(throws(kOp, {"must depend"}, [&] {
    adversarial_loss({3, 3}, kSize, [&](const Tensor&) {
      return LossSum{.loss = sum(square(squares.w)), .count = 1};
    });
  }));
}

}  // namespace
}  // namespace tessera::nn
