#include "nn/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "nn/linear.h"
#include "nn/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/ops/ops.h"
#include "tests/support/errors.h"
#include "tests/support/golden.h"
#include "tests/support/gradcheck.h"

namespace tessera::test {
namespace {

using nn::bce_with_logits;
using nn::cross_entropy;
using nn::mse_loss;
using nn::Reduction;

const std::vector<std::pair<std::string, Reduction>> kLossReductions = {
    {"mean", Reduction::kMean}, {"sum", Reduction::kSum}, {"none", Reduction::kNone}};

double allowed(DType dtype) {
  return dtype == kFloat32 ? 2e-5 : 1e-12;
}

// ---- PyTorch's values ----

class Golden {
 public:
  Golden(const std::string& name, DType dtype) : name_(name), dtype_(dtype) {}

  /// An operand; undefined where the case has none.
  Tensor operator[](const char* operand) const {
    const std::string entry = name_ + "." + operand;
    if (!file().has(entry)) return {};
    const Tensor& x = file().array(entry);
    return is_floating(x.dtype()) ? x.to(dtype_) : x;
  }

  /// Whether loss(x) and its gradient are as in the file, which holds the latter for dy = 1.
  template <class Loss>
  ::testing::AssertionResult agrees(const Loss& loss) const {
    Tensor x = (*this)["x"].clone().set_requires_grad();
    Tape tape;
    const Tensor y = loss(x);
    const auto value =
        near(y.detach(), array(file().array(name_ + ".output")), allowed(dtype_), allowed(dtype_));
    if (!value) return ::testing::AssertionFailure() << name_ << ": " << value.message();
    tape.backward(y, ones(y.shape(), dtype_));
    const auto gradient =
        near(x.grad(), array(file().array(name_ + ".dx")), allowed(dtype_), allowed(dtype_) / 10);
    if (!gradient) return ::testing::AssertionFailure() << name_ << ".dx: " << gradient.message();
    return ::testing::AssertionSuccess();
  }

 private:
  static const GoldenCase& file() {
    static const GoldenCase golden("losses");
    return golden;
  }
  std::string name_;
  DType dtype_;
};

class LossParity : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, LossParity, ::testing::Values(kFloat32, kFloat64),
                         [](const auto& test) { return str_cat(test.param); });

TEST_P(LossParity, CrossEntropy) {
  for (const auto& [reduction_name, kind] : kLossReductions) {
    for (const double smoothing : {0.0, 0.15}) {
      for (const char* weighted : {"", "_weighted"}) {
        const Golden golden(str_cat("cross_entropy_", reduction_name,
                                    smoothing == 0 ? "_plain" : "_smooth", weighted),
                            GetParam());
        EXPECT_TRUE(golden.agrees([&, reduction = kind](const Tensor& x) {
          return cross_entropy(
              x, golden["targets"],
              {.weight = golden["weight"], .label_smoothing = smoothing, .reduction = reduction});
        }));
      }
    }
  }
}

TEST_P(LossParity, CrossEntropyOfScoresFarApart) {
  const Golden golden("cross_entropy_far", GetParam());
  EXPECT_TRUE(golden.agrees([&](const Tensor& x) { return cross_entropy(x, golden["target"]); }));
}

TEST_P(LossParity, WhereAllTargetsAreIgnoredTheMeanIsNaNAndTheGradientZero) {
  const Golden golden("cross_entropy_all_ignored", GetParam());
  EXPECT_TRUE(golden.agrees(
      [&](const Tensor& x) { return cross_entropy(x, golden["targets"], {.ignore_index = 2}); }));
}

TEST_P(LossParity, BceWithLogits) {
  for (const auto& [reduction_name, kind] : kLossReductions) {
    for (const char* weighted : {"", "_weighted"}) {
      const Golden golden("bce_" + reduction_name + weighted, GetParam());
      EXPECT_TRUE(golden.agrees([&, reduction = kind](const Tensor& x) {
        return bce_with_logits(x, golden["target"],
                               {.weight = golden["weight"],
                                .pos_weight = golden["pos_weight"],
                                .reduction = reduction});
      }));
    }
  }
}

TEST_P(LossParity, MeanSquaredError) {
  for (const auto& [reduction_name, kind] : kLossReductions) {
    const Golden golden("mse_" + reduction_name, GetParam());
    EXPECT_TRUE(golden.agrees([&, reduction = kind](const Tensor& x) {
      return mse_loss(x, golden["target"], reduction);
    }));
  }
}

// ---- the definition, and gradients ----

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
      const nn::CrossEntropyOptions options = {
          .weight = from_vector(weight), .ignore_index = -1, .label_smoothing = smoothing};
      const Tensor got = cross_entropy(x, from_vector(targets), options);
      EXPECT_NEAR(got.item(), want.loss / want.weight, 1e-12) << classes << " classes";
    }
  }
}

TEST(CrossEntropy, Gradients) {
  const Tensor targets = tensor({{0, 4}, {-100, 2}, {3, 3}});
  const Tensor weight = values({5}, 8, 0.5, 2);
  for (const auto& [name, kind] : kLossReductions) {
    for (const double smoothing : {0.0, 0.2}) {
      const auto f = [&, reduction = kind](const Tensors& in) {
        const nn::CrossEntropyOptions plain = {.label_smoothing = smoothing,
                                               .reduction = reduction};
        nn::CrossEntropyOptions weighted = plain;
        weighted.weight = weight;
        return cross_entropy(in[0], targets, plain) + cross_entropy(in[0], targets, weighted);
      };
      EXPECT_TRUE(gradcheck(f, {values({3, 2, 5}, 7)})) << name << ", smoothing " << smoothing;
    }
  }
}

TEST(CrossEntropy, TheSameBitsInEveryLayoutAndWithOrWithoutAGradient) {
  const Tensor targets = from_vector(std::vector<index_t>{1, 40, -100, 3, 7});
  for (const double smoothing : {0.0, 0.1}) {
    const nn::CrossEntropyOptions options = {.label_smoothing = smoothing};
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
  const nn::Linear linear(4, 3);
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
                         const Tensor& targets, const nn::CrossEntropyOptions& options = {}) {
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

TEST(BceWithLogits, Gradients) {
  const Tensor target = values({3, 4}, 9, 0, 1);
  const Tensor weight = values({4}, 10, 0.5, 2);
  for (const auto& [name, kind] : kLossReductions) {
    const auto f = [&, reduction = kind](const Tensors& in) {
      return bce_with_logits(in[0], target, {.reduction = reduction}) +
             bce_with_logits(in[0], target,
                             {.weight = weight, .pos_weight = weight * 2, .reduction = reduction});
    };
    EXPECT_TRUE(gradcheck(f, {values({3, 4}, 11)})) << name;
  }
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

TEST(MseLoss, GradientsOfBoth) {
  for (const auto& [name, kind] : kLossReductions) {
    const auto f = [&, reduction = kind](const Tensors& in) {
      return mse_loss(in[0], in[1], reduction);
    };
    EXPECT_TRUE(gradcheck(f, {values({3, 4}, 14), values({3, 4}, 15)})) << name;
  }
}

TEST(MseLoss, Errors) {
  EXPECT_TRUE(throws("mse_loss", {"(2, 1)", "(2,)"}, [] { mse_loss(zeros({2, 1}), zeros({2})); }));
  EXPECT_TRUE(throws("mse_loss", {"int64"}, [] { mse_loss(zeros({2}, kInt64), zeros({2})); }));
}

}  // namespace
}  // namespace tessera::test
