// Each loss by its definition, and edge cases; loss_parity_test.cpp has the common tests.
#include "nn/loss.h"

#include "nn/nn.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

struct Sums {
  double loss = 0;
  double weight = 0;
};

/// The definition, in double.
Sums naive_cross_entropy(const Array& x, const std::vector<index_t>& targets, double smoothing,
                         const std::vector<double>& weight, index_t ignored) {
  const index_t classes = x.shape[1];
  Sums sums;
  for (index_t row = 0; row < x.shape[0]; ++row) {
    const index_t y = targets[static_cast<std::size_t>(row)];
    if (y == ignored) continue;
    double total = 0;
    for (index_t c = 0; c < classes; ++c) total += std::exp(x.at({row, c}));
    const auto term = [&](index_t c) {
      return weight[static_cast<std::size_t>(c)] * (std::log(total) - x.at({row, c}));
    };
    sums.loss += (1 - smoothing) * term(y);
    for (index_t c = 0; c < classes; ++c) {
      sums.loss += smoothing / static_cast<double>(classes) * term(c);
    }
    sums.weight += weight[static_cast<std::size_t>(y)];
  }
  return sums;
}

TEST(CrossEntropy, IsItsDefinitionForAnyNumberOfClasses) {
  for (const index_t classes : {1, 2, 7, 16, 33, 513, 1030}) {
    for (const double smoothing : {0.0, 0.3}) {
      const Tensor x = random_tensor({5, classes}, kFloat64, 3);
      const std::vector<index_t> targets = {0, classes - 1, -1, classes / 2, -1};
      const std::vector<double> weight = random_values<double>(classes, 4, 0.5, 2);
      const Sums want = naive_cross_entropy(array(x), targets, smoothing, weight, -1);
      const CrossEntropyOptions options = {
          .weight = from_vector(weight), .ignore_index = -1, .label_smoothing = smoothing};
      const Tensor got = cross_entropy(x, from_vector(targets), options);
      EXPECT_NEAR(got.item(), want.loss / want.weight, 1e-12) << classes << " classes";
    }
  }
}

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

TEST(CrossEntropy, TheGradientIsThatOfLogSoftmaxAndThePick) {
  const Tensor targets = tensor({2, 0, 1});
  const Linear linear(4, 3);
  Tensor x = random_tensor({3, 4}, kFloat32, 5).set_requires_grad();
  Tensor same = x.detach().clone().set_requires_grad();
  Tape tape;
  tape.backward(cross_entropy(linear(x), targets));
  const Tensor picked = gather(log_softmax(linear(same)), 1, targets.unsqueeze(1));
  tape.backward(-mean(picked));
  EXPECT_TRUE(near(x.grad(), array(same.grad()), 1e-6, 1e-7));
}

TEST(CrossEntropy, GradientsAddUp) {
  Tensor x = random_tensor({3, 4}, kFloat32, 5).set_requires_grad();
  const auto backward = [&](double factor) {
    Tape tape;
    tape.backward(cross_entropy(x, tensor({2, 0, 1})) * factor);
  };
  backward(1);
  const Tensor once = x.grad().clone();
  backward(0.5);
  EXPECT_TRUE(near(x.grad(), array(once * 1.5), 1e-6));
}

TEST(CrossEntropy, Errors) {
  const Tensor x = zeros({2, 3, 4});
  const Tensor y = zeros({2, 3}, kInt64);
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& scores,
                         const Tensor& targets, const CrossEntropyOptions& options = {}) {
    return throws("cross_entropy", parts, [&] { cross_entropy(scores, targets, options); });
  };
  EXPECT_TRUE(fails({"(2, 4)", "(2, 3, 4)", "last axis"}, x, zeros({2, 4}, kInt64)));
  EXPECT_TRUE(fails({"int64", "float32"}, x, zeros({2, 3})));
  EXPECT_TRUE(fails({"floating", "int64"}, zeros({2, 3, 4}, kInt64), y));
  EXPECT_TRUE(fails({"undefined"}, Tensor(), y));
  EXPECT_TRUE(fails({"got 4 at position 2", "from 0 to 3"}, zeros({4, 4}), tensor({0, 3, 4, 1})));
  EXPECT_TRUE(fails({"at least 1 class", "(1, 0)"}, zeros({1, 0}), tensor({-100})));
  EXPECT_TRUE(fails({"targets", "got -1"}, zeros({1, 4}), tensor({-1})));
  EXPECT_TRUE(fails({"label_smoothing", "1.5"}, x, y, {.label_smoothing = 1.5}));
  EXPECT_TRUE(fails({"weight", "(4,)", "got float32 (3,)"}, x, y, {.weight = ones({3})}));
  EXPECT_TRUE(fails({"weight", "float64"}, x, y, {.weight = ones({4}, kFloat64)}));
  const Tensor weight = ones({4}).set_requires_grad();
  const Tape tape;
  EXPECT_TRUE(throws("the weight of cross_entropy", {"gradient"},
                     [&] { cross_entropy(x, y, {.weight = weight}); }));
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

TEST(BceWithLogits, OverManyValues) {
  const Tensor x = random_tensor({3001}, kFloat32, 12, -30, 30);
  const Tensor t = random_tensor({3001}, kFloat32, 13, 0, 1);
  const Tensor got = bce_with_logits(x, t, {.reduction = Reduction::kNone});
  const Array want = map(array(x), array(t), [](double z, double p) {
    return (1 - p) * (std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)))) +
           p * (std::max(-z, 0.0) + std::log1p(std::exp(-std::abs(z))));
  });
  EXPECT_TRUE(near(got, want, 5e-7));
}

TEST(BceWithLogits, TakesTargetsOfOtherDTypes) {
  const Tensor x = tensor({0.5, -1.0});
  const Tensor want = bce_with_logits(x, tensor({1.0, 0.0}));
  EXPECT_TRUE(same_bits(bce_with_logits(x, tensor({1, 0})), want));
  EXPECT_TRUE(same_bits(bce_with_logits(x, tensor({true, false})), want));
}

TEST(BceWithLogits, Errors) {
  EXPECT_TRUE(
      throws("bce_with_logits", {"(2,)", "(3,)"}, [] { bce_with_logits(zeros({2}), zeros({3})); }));
  EXPECT_TRUE(throws("bce_with_logits", {"pos_weight", "(3,)", "(2,)"},
                     [] { bce_with_logits(zeros({2}), zeros({2}), {.pos_weight = ones({3})}); }));
  Tensor target = zeros({2});
  target.set_requires_grad();
  const Tape tape;
  EXPECT_TRUE(throws("the target or a weight of bce_with_logits", {"gradient"},
                     [&] { bce_with_logits(zeros({2}), target); }));
}

TEST(MseLoss, Errors) {
  EXPECT_TRUE(throws("mse_loss", {"(2, 1)", "(2,)"}, [] { mse_loss(zeros({2, 1}), zeros({2})); }));
  EXPECT_TRUE(throws("mse_loss", {"int64"}, [] { mse_loss(zeros({2}, kInt64), zeros({2})); }));
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
                         const Tensor& targets, const NllOptions& options = {}) {
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
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& positive,
                         const Tensor& negative, const TripletOptions& options = {}) {
    return throws("triplet_margin_loss", parts,
                  [&] { triplet_margin_loss(x, positive, negative, options); });
  };
  EXPECT_TRUE(fails({"(2, 3)", "(3,)"}, zeros({3}), x));
  EXPECT_TRUE(fails({"(2, 3)", "(2, 1)"}, x, zeros({2, 1})));
  EXPECT_TRUE(fails({"float64"}, x, zeros({2, 3}, kFloat64)));
  EXPECT_TRUE(fails({"undefined"}, x, Tensor()));
  EXPECT_TRUE(fails({"margin", "-1"}, x, x, {.margin = -1}));
  EXPECT_TRUE(fails({"eps", "-1"}, x, x, {.eps = -1}));
}

/// InfoNCE by its definition.
std::vector<double> naive_info_nce(const Array& queries, const Array& keys, double temperature) {
  const index_t width = queries.shape[1];
  const auto product = [&](const Array& a, index_t i, const Array& b, index_t j) {
    double total = 0;
    for (index_t d = 0; d < width; ++d) total += a.at({i, d}) * b.at({j, d});
    return total;
  };
  const auto cosine = [&](index_t i, index_t j) {
    const double lengths = product(queries, i, queries, i) * product(keys, j, keys, j);
    return product(queries, i, keys, j) / std::sqrt(lengths);
  };
  std::vector<double> losses;
  for (index_t i = 0; i < queries.shape[0]; ++i) {
    double total = 0;
    for (index_t j = 0; j < keys.shape[0]; ++j) total += std::exp(cosine(i, j) / temperature);
    losses.push_back(std::log(total) - cosine(i, i) / temperature);
  }
  return losses;
}

TEST(Contrastive, IsItsDefinitionInEveryLayout) {
  for (const index_t more : {0, 3}) {
    const Tensor keys = random_tensor({5 + more, 8}, kFloat64, 2);
    for (const Layout& queries : random_layouts({5, 8}, kFloat64, 1)) {
      const Array want = {{5}, naive_info_nce(array(queries.tensor), array(keys), 0.1)};
      const Tensor got =
          info_nce_loss(queries.tensor, keys, {.temperature = 0.1, .reduction = Reduction::kNone});
      EXPECT_TRUE(near(got, want, 1e-12, 1e-13)) << queries.name << ", " << more << " more keys";
    }
  }
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
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& queries,
                         const Tensor& keys, const InfoNceOptions& options = {}) {
    return throws("info_nce_loss", parts, [&] { info_nce_loss(queries, keys, options); });
  };
  EXPECT_TRUE(fails({"(2, 3)", "(2, 4)"}, x, zeros({2, 4})));
  EXPECT_TRUE(fails({"(2, 3)", "(1, 3)"}, x, zeros({1, 3})));
  EXPECT_TRUE(fails({"(3,)"}, zeros({3}), zeros({3})));
  EXPECT_TRUE(fails({"symmetric", "2 queries", "4 keys"}, x, zeros({4, 3}), {.symmetric = true}));
  EXPECT_TRUE(fails({"temperature", "0"}, x, x, {.temperature = 0}));
  EXPECT_TRUE(fails({"temperature", "nan"}, x, x, {.temperature = std::nan("")}));
  EXPECT_TRUE(fails({"int64"}, x, zeros({2, 3}, kInt64)));
  EXPECT_TRUE(fails({"undefined"}, Tensor(), x));
}

}  // namespace
}  // namespace tessera::nn
