// nll_loss, kl_div and smooth_l1_loss: PyTorch's values and gradients, and the edges.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "nn/loss.h"
#include "tensor/autograd/tape.h"
#include "tensor/ops/ops.h"
#include "tests/support/errors.h"
#include "tests/support/golden_gradients.h"
#include "tests/support/gradcheck.h"

namespace tessera::test {
namespace {

using nn::cross_entropy;
using nn::kl_div;
using nn::KlReduction;
using nn::nll_loss;
using nn::Reduction;
using nn::smooth_l1_loss;

const std::vector<std::pair<std::string, Reduction>> kNamedReductions = {
    {"mean", Reduction::kMean}, {"sum", Reduction::kSum}, {"none", Reduction::kNone}};
const std::vector<std::pair<std::string, KlReduction>> kKlReductions = {
    {"mean", KlReduction::kMean},
    {"batchmean", KlReduction::kBatchMean},
    {"sum", KlReduction::kSum},
    {"none", KlReduction::kNone}};

class ComposedLossParity : public ::testing::TestWithParam<DType> {
 protected:
  static ::testing::AssertionResult is_golden(const std::string& name, const GoldenFunction& f) {
    static const GoldenCase file("composed_losses");
    return agrees(file, name, GetParam(), f, GetParam() == kFloat32 ? 1e-5 : 1e-12);
  }
};
INSTANTIATE_TEST_SUITE_P(DTypes, ComposedLossParity, ::testing::Values(kFloat32, kFloat64),
                         [](const auto& test) { return str_cat(test.param); });

TEST_P(ComposedLossParity, NllLoss) {
  for (const auto& [name, kind] : kNamedReductions) {
    const auto loss = [reduction = kind](GoldenOperands& o) {
      return nll_loss(o["x"], o["target"], {.weight = o["weight"], .reduction = reduction});
    };
    EXPECT_TRUE(is_golden("nll_" + name, loss));
    EXPECT_TRUE(is_golden("nll_weighted_" + name, loss));
  }
}

TEST_P(ComposedLossParity, KlDiv) {
  for (const auto& [name, kind] : kKlReductions) {
    for (const bool log_target : {false, true}) {
      EXPECT_TRUE(is_golden(
          (log_target ? "kl_log_" : "kl_") + name, [=, reduction = kind](GoldenOperands& o) {
            return kl_div(o["x"], o["target"], {.log_target = log_target, .reduction = reduction});
          }));
    }
  }
}

TEST_P(ComposedLossParity, SmoothL1) {
  for (const auto& [name, kind] : kNamedReductions) {
    for (const bool narrow : {false, true}) {
      EXPECT_TRUE(is_golden((narrow ? "smooth_l1_narrow_" : "smooth_l1_") + name,
                            [=, reduction = kind](GoldenOperands& o) {
                              return smooth_l1_loss(
                                  o["x"], o["target"],
                                  {.beta = narrow ? 0.25 : 1, .reduction = reduction});
                            }));
    }
  }
}

TEST(NllLoss, IsCrossEntropyOfLogSoftmax) {
  const Tensor x = random_tensor({2, 3, 7}, kFloat64, 1);
  const Tensor targets = tensor({{0, 6, 5}, {2, 5, 1}});
  const Tensor weight = values({7}, 2, 0.5, 2);
  for (const auto& [name, kind] : kNamedReductions) {
    const Tensor got =
        nll_loss(log_softmax(x), targets, {.weight = weight, .ignore_index = 5, .reduction = kind});
    const Tensor want =
        cross_entropy(x, targets, {.weight = weight, .ignore_index = 5, .reduction = kind});
    EXPECT_TRUE(near(got, array(want), 1e-13)) << name;
  }
}

TEST(NllLoss, Gradients) {
  const Tensor targets = tensor({{0, 4}, {-100, 2}, {3, 3}});
  const Tensor weight = values({5}, 8, 0.5, 2);
  for (const auto& [name, kind] : kNamedReductions) {
    const auto f = [&, reduction = kind](const Tensors& in) {
      return nll_loss(in[0], targets, {.reduction = reduction}) +
             nll_loss(in[0], targets, {.weight = weight, .reduction = reduction});
    };
    EXPECT_TRUE(gradcheck(f, {values({3, 2, 5}, 7)})) << name;
  }
}

TEST(NllLoss, IgnoredRows) {
  const Tensor x = tensor({{-kInf, 0.0}, {-1.0, -2.0}}).set_requires_grad();
  const Tensor first = tensor({-100, 1});
  EXPECT_EQ(nll_loss(x, first).item(), 2);
  EXPECT_TRUE(same_bits(nll_loss(x, first, {.reduction = Reduction::kNone}), tensor({0.0, 2.0})));
  Tape tape;
  const Tensor none = nll_loss(x, tensor({-100, -100}));
  EXPECT_TRUE(std::isnan(none.item()));
  tape.backward(none);
  EXPECT_TRUE(same_bits(x.grad(), zeros({2, 2})));
  EXPECT_EQ(nll_loss(tensor({-1.0, -3.0}), tensor(1)).item(), 3);
}

TEST(NllLoss, IgnoredRowsHaveNoWeight) {
  Tape tape;
  const Tensor x = tensor({{-1.0, -2.0}, {-1.0, -2.0}}).set_requires_grad();
  const Tensor loss = nll_loss(x, tensor({-100, 1}), {.weight = tensor({kInf, 0.5})});
  EXPECT_EQ(loss.item(), 2);
  tape.backward(loss);
  EXPECT_TRUE(same_bits(x.grad(), tensor({{0.0, 0.0}, {0.0, -1.0}})));
}

TEST(NllLoss, Errors) {
  const Tensor x = zeros({2, 4});
  const Tensor y = zeros({2}, kInt64);
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& scores,
                         const Tensor& targets, const nn::NllOptions& options = {}) {
    return throws("nll_loss", parts, [&] { nll_loss(scores, targets, options); });
  };
  EXPECT_TRUE(fails({"(3,)", "(2, 4)", "last axis"}, x, zeros({3}, kInt64)));
  EXPECT_TRUE(fails({"int64", "float32"}, x, zeros({2})));
  EXPECT_TRUE(fails({"floating", "int64"}, zeros({2, 4}, kInt64), y));
  EXPECT_TRUE(fails({"undefined"}, Tensor(), y));
  EXPECT_TRUE(fails({"got 4 at position 1", "from 0 to 3"}, x, tensor({0, 4})));
  EXPECT_TRUE(fails({"at least 1 class", "(2, 0)"}, zeros({2, 0}), tensor({-100, -100})));
  EXPECT_TRUE(fails({"weight", "(3,)"}, x, y, {.weight = ones({3})}));
  const Tensor weight = ones({4}).set_requires_grad();
  const Tape tape;
  EXPECT_TRUE(
      throws("the weight of nll_loss", {"gradient"}, [&] { nll_loss(x, y, {.weight = weight}); }));
}

TEST(KlDiv, GradientsOfBoth) {
  for (const auto& [name, kind] : kKlReductions) {
    for (const bool log_target : {false, true}) {
      const auto f = [&, reduction = kind](const Tensors& in) {
        return kl_div(in[0], in[1], {.log_target = log_target, .reduction = reduction});
      };
      EXPECT_TRUE(gradcheck(f, {values({3, 4}, 1), values({3, 4}, 2, 0.1, 1)})) << name;
    }
  }
}

TEST(KlDiv, WhatHasNoProbabilityHasNoLossAndNoGradient) {
  for (const bool log_target : {false, true}) {
    const double none = log_target ? -kInf : 0;
    const double half = log_target ? std::log(0.5) : 0.5;
    Tensor x = tensor({-kInf, std::log(0.25), -1.0}, kFloat64).set_requires_grad();
    Tensor target = tensor({none, half, none}, kFloat64).set_requires_grad();
    Tape tape;
    const Tensor loss =
        kl_div(x, target, {.log_target = log_target, .reduction = KlReduction::kSum});
    EXPECT_NEAR(loss.item(), 0.5 * std::log(2), 1e-15);
    tape.backward(loss);
    EXPECT_TRUE(near(x.grad(), array(tensor({0.0, -0.5, 0.0})), 1e-15));
    EXPECT_EQ(target.grad().item_at({0}), 0);
    EXPECT_EQ(target.grad().item_at({2}), 0);
  }
  EXPECT_TRUE(std::isnan(kl_div(tensor({-1.0}), tensor({std::nan("")})).item()));
}

TEST(KlDiv, AProbabilityThatUnderflowsIsNone) {
  const Tensor x = tensor({-kInf, 0.0}, kFloat32).set_requires_grad();
  const Tensor target = tensor({-200.0, 0.0}, kFloat32).set_requires_grad();
  Tape tape;
  const Tensor loss = kl_div(x, target, {.log_target = true, .reduction = KlReduction::kSum});
  EXPECT_EQ(loss.item(), 0);
  tape.backward(loss);
  EXPECT_TRUE(near(x.grad(), array(tensor({0.0, -1.0})), 0));
  EXPECT_TRUE(near(target.grad(), array(tensor({0.0, 1.0})), 0));
}

TEST(KlDiv, Errors) {
  EXPECT_TRUE(throws("kl_div", {"(2,)", "(3,)"}, [] { kl_div(zeros({2}), zeros({3})); }));
  EXPECT_TRUE(throws("kl_div", {"int64"}, [] { kl_div(zeros({2}, kInt64), zeros({2})); }));
  EXPECT_TRUE(throws("kl_div", {"undefined"}, [] { kl_div(zeros({2}), Tensor()); }));
  EXPECT_TRUE(throws("kl_div", {"first axis", "got shape ()"}, [] {
    kl_div(tensor(-1.0), tensor(0.5), {.reduction = KlReduction::kBatchMean});
  }));
}

TEST(SmoothL1Loss, GradientsOfBoth) {
  for (const auto& [name, kind] : kNamedReductions) {
    for (const double beta : {0.0, 0.5, 2.0}) {
      const auto f = [&, reduction = kind](const Tensors& in) {
        return smooth_l1_loss(in[0], in[1], {.beta = beta, .reduction = reduction});
      };
      EXPECT_TRUE(gradcheck(f, {values({3, 4}, 14), values({3, 4}, 15)})) << name << beta;
    }
  }
}

TEST(SmoothL1Loss, IsItsDefinition) {
  const Tensor x = random_tensor({3001}, kFloat32, 12, -3, 3);
  const Tensor t = random_tensor({3001}, kFloat32, 13, -3, 3);
  for (const double beta : {0.0, 0.3, 1.0, 7.0}) {
    const Tensor got = smooth_l1_loss(x, t, {.beta = beta, .reduction = Reduction::kNone});
    const Array want = map(array(x), array(t), [&](double a, double b) {
      const double d = std::abs(a - b);
      return d < beta ? d * d / (2 * beta) : d - beta / 2;
    });
    EXPECT_TRUE(near(got, want, 5e-6, 5e-7)) << beta;
    for (const Layout& layout : layouts_of(x)) {
      EXPECT_TRUE(same_bits(
          smooth_l1_loss(layout.tensor, t, {.beta = beta, .reduction = Reduction::kNone}), got));
    }
  }
}

TEST(SmoothL1Loss, Errors) {
  const Tensor x = zeros({2});
  EXPECT_TRUE(throws("smooth_l1_loss", {"(2,)", "(1,)"}, [&] { smooth_l1_loss(x, zeros({1})); }));
  EXPECT_TRUE(
      throws("smooth_l1_loss", {"beta", "-1"}, [&] { smooth_l1_loss(x, x, {.beta = -1}); }));
  EXPECT_TRUE(
      throws("smooth_l1_loss", {"beta", "inf"}, [&] { smooth_l1_loss(x, x, {.beta = kInf}); }));
}

}  // namespace
}  // namespace tessera::test
