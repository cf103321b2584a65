// Edge cases and errors of each loss. The values are in loss_parity_test.cpp and
// loss_kernels_test.cpp.
#include "tessera/nn/loss.h"

#include "tessera/nn/nn.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(CrossEntropy, TheSameBitsInEveryLayoutAndWithOrWithoutAGradient) {
  const Tensor targets = from_vector(std::vector<index_t>{1, 40, -100, 3, 7});
  for (const double smoothing : {0.0, 0.1}) {
    const CrossEntropyOptions options = {.label_smoothing = smoothing};
    const Tensor x = random_tensor({5, 41}, kFloat32, 2);
    const Tensor want = cross_entropy(x, targets, options);
    for (const Layout& layout : layouts_of(x)) {
      EXPECT_TRUE(same_bits(cross_entropy(layout.tensor, targets, options), want)) << layout.name;
    }
    Tensor variable = x.clone().set_requires_grad();
    Tape tape;
    EXPECT_TRUE(same_bits(cross_entropy(variable, targets, options).detach(), want));
  }
}

TEST(CrossEntropy, InfiniteScores) {
  const Tensor x = tensor({{1.0, -kInf, 2.0}, {-kInf, 0.5, -kInf}});
  const Tensor loss = cross_entropy(x, tensor({0, 1}), {.reduction = Reduction::kNone});
  EXPECT_NEAR(loss.item_at({0}), std::log1p(std::exp(1.0)), 1e-6);
  EXPECT_EQ(loss.item_at({1}), 0);
  EXPECT_EQ(cross_entropy(x, tensor({1, 1}), {.reduction = Reduction::kSum}).item(), kInf);
}

TEST(CrossEntropy, Errors) {
  const Tensor x = zeros({2, 3, 4});
  const Tensor y = zeros({2, 3}, kInt64);
  const auto error = [&](const std::vector<std::string>& parts, const Tensor& scores,
                         const Tensor& targets, const CrossEntropyOptions& options = {}) {
    return throws("cross_entropy", parts, [&] { cross_entropy(scores, targets, options); });
  };
  EXPECT_TRUE(error({"(2, 4)", "(2, 3, 4)", "last axis"}, x, zeros({2, 4}, kInt64)));
  EXPECT_TRUE(error({"int64", "float32"}, x, zeros({2, 3})));
  EXPECT_TRUE(error({"floating", "int64"}, zeros({2, 3, 4}, kInt64), y));
  EXPECT_TRUE(error({"undefined"}, Tensor(), y));
  EXPECT_TRUE(error({"got 4 at position 2", "from 0 to 3"}, zeros({4, 4}), tensor({0, 3, 4, 1})));
  EXPECT_TRUE(error({"at least 1 class", "(1, 0)"}, zeros({1, 0}), tensor({-100})));
  EXPECT_TRUE(error({"targets", "got -1"}, zeros({1, 4}), tensor({-1})));
  EXPECT_TRUE(error({"label_smoothing", "1.5"}, x, y, {.label_smoothing = 1.5}));
  EXPECT_TRUE(error({"weight", "(4,)", "got float32 (3,)"}, x, y, {.weight = ones({3})}));
  EXPECT_TRUE(error({"weight", "float64"}, x, y, {.weight = ones({4}, kFloat64)}));
  const Tensor weight = ones({4}).set_requires_grad();
  const Tape tape;
  fails("the weight of cross_entropy", "gradient",
        [&] { cross_entropy(x, y, {.weight = weight}); });
}

TEST(BceWithLogits, KeepsItsDigitsFarFromZero) {
  const Tensor x = tensor({-80.0, -20.0, 20.0, 80.0, -300.0, 300.0});
  const Tensor sure =
      bce_with_logits(x, tensor({0.0, 0.0, 1.0, 1.0, 0.0, 1.0}), {.reduction = Reduction::kNone});
  const Tensor wrong =
      bce_with_logits(x, tensor({1.0, 1.0, 0.0, 0.0, 1.0, 0.0}), {.reduction = Reduction::kNone});
  for (index_t i = 0; i < x.count(); ++i) {
    const double a = std::abs(x.item_at({i}));
    EXPECT_NEAR(sure.item_at({i}) / std::max(std::exp(-a), 1e-38), a > 90 ? 0 : 1, 1e-6) << a;
    EXPECT_NEAR(wrong.item_at({i}), a, 1e-5 * a);
  }
}

TEST(BceWithLogits, TakesTargetsOfOtherDTypes) {
  const Tensor x = tensor({0.5, -1.0});
  const Tensor want = bce_with_logits(x, tensor({1.0, 0.0}));
  EXPECT_TRUE(same_bits(bce_with_logits(x, tensor({1, 0})), want));
  EXPECT_TRUE(same_bits(bce_with_logits(x, tensor({true, false})), want));
}

TEST(BceWithLogits, Errors) {
  fails("bce_with_logits", {"(2,)", "(3,)"}, [] { bce_with_logits(zeros({2}), zeros({3})); });
  fails("bce_with_logits", {"pos_weight", "(3,)", "(2,)"},
        [] { bce_with_logits(zeros({2}), zeros({2}), {.pos_weight = ones({3})}); });
  Tensor target = zeros({2});
  target.set_requires_grad();
  const Tape tape;
  fails("the target or a weight of bce_with_logits", "gradient",
        [&] { bce_with_logits(zeros({2}), target); });
}

TEST(MseLoss, Errors) {
  fails("mse_loss", {"(2, 1)", "(2,)"}, [] { mse_loss(zeros({2, 1}), zeros({2})); });
  fails("mse_loss", "int64", [] { mse_loss(zeros({2}, kInt64), zeros({2})); });
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
  const auto error = [&](const std::vector<std::string>& parts, const Tensor& scores,
                         const Tensor& targets, const NllOptions& options = {}) {
    return throws("nll_loss", parts, [&] { nll_loss(scores, targets, options); });
  };
  EXPECT_TRUE(error({"(3,)", "(2, 4)", "last axis"}, x, zeros({3}, kInt64)));
  EXPECT_TRUE(error({"int64", "float32"}, x, zeros({2})));
  EXPECT_TRUE(error({"floating", "int64"}, zeros({2, 4}, kInt64), y));
  EXPECT_TRUE(error({"undefined"}, Tensor(), y));
  EXPECT_TRUE(error({"got 4 at position 1", "from 0 to 3"}, x, tensor({0, 4})));
  EXPECT_TRUE(error({"at least 1 class", "(2, 0)"}, zeros({2, 0}), tensor({-100, -100})));
  EXPECT_TRUE(error({"weight", "(3,)"}, x, y, {.weight = ones({3})}));
  const Tensor weight = ones({4}).set_requires_grad();
  const Tape tape;
  fails("the weight of nll_loss", "gradient", [&] { nll_loss(x, y, {.weight = weight}); });
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
  fails("kl_div", {"(2,)", "(3,)"}, [] { kl_div(zeros({2}), zeros({3})); });
  fails("kl_div", "int64", [] { kl_div(zeros({2}, kInt64), zeros({2})); });
  fails("kl_div", "undefined", [] { kl_div(zeros({2}), Tensor()); });
  fails("kl_div", {"first axis", "got shape ()"},
        [] { kl_div(tensor(-1.0), tensor(0.5), {.reduction = KlReduction::kBatchMean}); });
}

TEST(SmoothL1Loss, Errors) {
  const Tensor x = zeros({2});
  fails("smooth_l1_loss", {"(2,)", "(1,)"}, [&] { smooth_l1_loss(x, zeros({1})); });
  fails("smooth_l1_loss", {"beta", "-1"}, [&] { smooth_l1_loss(x, x, {.beta = -1}); });
  fails("smooth_l1_loss", {"beta", "inf"}, [&] { smooth_l1_loss(x, x, {.beta = kInf}); });
}

TEST(TripletMarginLoss, FarNegativesCostNothing) {
  const Tensor anchor = tensor({{0.0, 0.0}, {0.0, 0.0}}).set_requires_grad();
  const Tensor positive = tensor({{3.0, 4.0}, {3.0, 4.0}});
  const Tensor negative = tensor({{30.0, 40.0}, {0.0, 5.5}});
  Tape tape;
  const Tensor loss =
      triplet_margin_loss(anchor, positive, negative, {.eps = 0, .reduction = Reduction::kNone});
  EXPECT_TRUE(near(loss.detach(), array(tensor({0.0, 0.5})), 1e-6));
  tape.backward(sum(loss));
  EXPECT_TRUE(same_bits(anchor.grad().select(0, 0), zeros({2})));
  EXPECT_TRUE(near(anchor.grad().select(0, 1), array(tensor({-0.6, 0.2})), 1e-6));
}

TEST(TripletMarginLoss, Errors) {
  const Tensor x = zeros({2, 3});
  const auto error = [&](const std::vector<std::string>& parts, const Tensor& positive,
                         const Tensor& negative, const TripletOptions& options = {}) {
    return throws("triplet_margin_loss", parts,
                  [&] { triplet_margin_loss(x, positive, negative, options); });
  };
  EXPECT_TRUE(error({"(2, 3)", "(3,)"}, zeros({3}), x));
  EXPECT_TRUE(error({"(2, 3)", "(2, 1)"}, x, zeros({2, 1})));
  EXPECT_TRUE(error({"float64"}, x, zeros({2, 3}, kFloat64)));
  EXPECT_TRUE(error({"undefined"}, x, Tensor()));
  EXPECT_TRUE(error({"margin", "-1"}, x, x, {.margin = -1}));
  EXPECT_TRUE(error({"eps", "-1"}, x, x, {.eps = -1}));
}

TEST(Contrastive, OfZerosIsFinite) {
  const Tensor x = zeros({3, 4}).set_requires_grad();
  Tape tape;
  const Tensor loss = info_nce_loss(x, ones({3, 4}));
  EXPECT_NEAR(loss.item(), std::log(3), 1e-6);
  tape.backward(loss);
  EXPECT_TRUE(all(isfinite(x.grad())).item<bool>());
}

TEST(Contrastive, Errors) {
  const Tensor x = zeros({2, 3});
  const auto error = [&](const std::vector<std::string>& parts, const Tensor& queries,
                         const Tensor& keys, const InfoNceOptions& options = {}) {
    return throws("info_nce_loss", parts, [&] { info_nce_loss(queries, keys, options); });
  };
  EXPECT_TRUE(error({"(2, 3)", "(2, 4)"}, x, zeros({2, 4})));
  EXPECT_TRUE(error({"(2, 3)", "(1, 3)"}, x, zeros({1, 3})));
  EXPECT_TRUE(error({"(3,)"}, zeros({3}), zeros({3})));
  EXPECT_TRUE(error({"symmetric", "2 queries", "4 keys"}, x, zeros({4, 3}), {.symmetric = true}));
  EXPECT_TRUE(error({"temperature", "0"}, x, x, {.temperature = 0}));
  EXPECT_TRUE(error({"temperature", "nan"}, x, x, {.temperature = std::nan("")}));
  EXPECT_TRUE(error({"int64"}, x, zeros({2, 3}, kInt64)));
  EXPECT_TRUE(error({"undefined"}, Tensor(), x));
}

}  // namespace
}  // namespace tessera::nn
