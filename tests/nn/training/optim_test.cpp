#include "tessera/nn/training/optim.h"

#include "tessera/nn/nn.h"
#include "tessera/tensor/profile.h"
#include "tests/support/golden.h"
#include "tests/support/optimizers.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using nn::Parameter;
using nn::ParameterGroup;
using nn::Parameters;

// ---- PyTorch's weights ----

class OptimizerParity : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, OptimizerParity, each_isa(), isa_name);

TEST_P(OptimizerParity, EachAlgorithm) {
  const GoldenCase golden("optim");
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor gradients = golden.array("gradients").to(dtype);
    for (const auto& [name, make] : algorithms()) {
      const Tensor w = variable(golden.array("start").to(dtype));
      const auto optimizer = make(one_group(w));
      for (index_t step = 0; step < gradients.size(0); ++step) {
        SCOPED_TRACE(str_cat(name, ", ", dtype, ", step ", step));
        give_gradient(w, gradients.select(0, step));
        optimizer->step();
        optimizer->zero_grad();
        const Tensor want = golden.array(name).select(0, step);
        if (dtype == kFloat64) {
          ASSERT_TRUE(near(w.detach(), array(want), 2e-6, 2e-7));
        } else if (current_isa() == "baseline") {
          ASSERT_TRUE(near(w.detach(), array(want), 1e-6, 1e-7));
        } else {  // PyTorch's own results were computed with fused multiply-add
          ASSERT_TRUE(same_bits(w.detach(), want));
        }
      }
    }
  }
}

TEST(OptimizerProfile, AStepHasTheBytesOfWeightsGradientsAndState) {
  const Tensor w = variable(ones({100}));
  give_gradient(w, ones({100}));
  nn::AdamW optimizer(one_group(w));
  Profile profile;
  optimizer.step();
  const auto rows = profile.rows(ProfileBy::kModule);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].module, "AdamW");
  EXPECT_EQ(rows[0].bytes, 4 * 100 * 7) << "2 of weights, 1 of the gradient, 4 of two moments";
}

// ---- many tensors ----

/// Parameters of many sizes, of both dtypes, with random values and gradients.
Parameters many_parameters() {
  constexpr index_t kMost = 70001;
  static const Tensor values = random_tensor({kMost}, kFloat64, 1);
  static const Tensor gradients = random_tensor({kMost}, kFloat64, 2);
  Parameters parameters;
  for (const index_t n : {index_t{1}, index_t{7}, index_t{0}, index_t{16}, index_t{33}, kMost,
                          index_t{0}, index_t{3}, index_t{40000}, index_t{255}}) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      const Tensor w = variable(values.slice(0, kMost - n).to(dtype));
      give_gradient(w, gradients.slice(0, kMost - n).to(dtype));
      parameters.push_back({str_cat("p", parameters.size()), w});
    }
  }
  return parameters;
}

TEST(Optimizer, ManyTensorsStepAsEachWouldAloneUnderAnyNumberOfThreads) {
  for (const auto& [name, make] : algorithms()) {
    std::vector<Tensor> alone;
    for (const Parameter& parameter : many_parameters()) {
      const auto optimizer = make(one_group(parameter.tensor));
      for (int step = 0; step < 3; ++step) optimizer->step();
      alone.push_back(parameter.tensor.detach());
    }
    for (const int threads : {1, 2, 3, 7}) {
      set_thread_count(threads);
      const Parameters together = many_parameters();
      const auto optimizer = make({{.parameters = together}});
      for (int step = 0; step < 3; ++step) optimizer->step();
      set_thread_count(0);
      for (std::size_t i = 0; i < together.size(); ++i) {
        ASSERT_TRUE(same_bits(together[i].tensor.detach(), alone[i]))
            << name << ", " << threads << " threads, tensor " << i;
      }
    }
  }
}

TEST(Optimizer, WithoutAGradientNothingChanges) {
  for (const auto& [name, make] : algorithms()) {
    const Tensor w = variable(random_tensor({9}, kFloat32, 1));
    const Tensor other = variable(random_tensor({9}, kFloat32, 2));
    const Tensor before = w.detach().clone();
    const auto optimizer = make({{.parameters = {{"w", w}, {"other", other}}}});
    give_gradient(other, ones({9}));
    optimizer->step();
    EXPECT_TRUE(same_bits(w.detach(), before)) << name;
    EXPECT_EQ(optimizer->state().number("w.step"), 0);
    EXPECT_EQ(optimizer->state().number("other.step"), 1);
  }
}

TEST(Optimizer, AMomentThatFadesAwayBecomesZero) {
  const Tensor w = variable(ones({20}));
  nn::Adam optimizer(one_group(w));
  give_gradient(w, full({20}, 1e-37));
  optimizer.step();
  w.grad().fill(0);
  for (int step = 0; step < 60; ++step) optimizer.step();
  EXPECT_TRUE(same_bits(optimizer.state().tensors.at("w.exp_avg"), zeros({20})));
  EXPECT_TRUE(same_bits(optimizer.state().tensors.at("w.exp_avg_sq"), zeros({20})));
}

TEST(Optimizer, GroupsHaveTheirOwnRateAndDecay) {
  const Tensor a = variable(ones({3}));
  const Tensor b = variable(ones({3}));
  const Tensor c = variable(ones({3}));
  nn::SGD optimizer({{.parameters = {{"a", a}}},
                     {.parameters = {{"b", b}}, .lr = 0.25},
                     {.parameters = {{"c", c}}, .weight_decay = 0.0}},
                    {.lr = 0.5, .weight_decay = 1});
  for (const Tensor& x : {a, b, c}) give_gradient(x, ones({3}));
  optimizer.step();
  EXPECT_EQ(a.item_at({0}), 0);    // 1 - 0.5 (1 + 1)
  EXPECT_EQ(b.item_at({0}), 0.5);  // 1 - 0.25 (1 + 1)
  EXPECT_EQ(c.item_at({0}), 0.5);  // 1 - 0.5 * 1
  optimizer.set_lr(0);
  optimizer.set_lr(1, 1);
  optimizer.step();
  EXPECT_EQ(a.item_at({0}), 0);
  EXPECT_EQ(b.item_at({0}), -1);  // 0.5 - (1 + 0.5)
  EXPECT_EQ(optimizer.groups()[1].initial_lr, 1);
}

std::vector<std::string> names(const Parameters& parameters) {
  std::vector<std::string> result;
  for (const Parameter& parameter : parameters) result.push_back(parameter.name);
  return result;
}

using Names = std::vector<std::string>;

TEST(Parameters, AreThoseThatWantAGradientEachOnce) {
  Pair pair;
  EXPECT_TRUE(nn::parameters(pair).empty());
  nn::set_requires_grad(pair);
  EXPECT_EQ(names(nn::parameters(pair)),
            (Names{"first.weight", "first.bias", "second.weight", "second.bias"}));
  pair.second.weight = pair.first.weight;
  pair.first.bias.set_requires_grad(false);
  EXPECT_EQ(names(nn::parameters(pair)), (Names{"first.weight", "second.bias"}));
}

TEST(Parameters, SplitByDecay) {
  Pair pair;
  nn::set_requires_grad(pair);
  const nn::AdamW optimizer(nn::split_weight_decay(pair), {.weight_decay = 0.5});
  EXPECT_EQ(names(optimizer.groups()[0].parameters), (Names{"first.weight", "second.weight"}));
  EXPECT_EQ(optimizer.groups()[0].weight_decay, 0.5);
  EXPECT_EQ(names(optimizer.groups()[1].parameters), (Names{"first.bias", "second.bias"}));
  EXPECT_EQ(optimizer.groups()[1].weight_decay, 0);
}

TEST(Optimizer, AStepReachesPackedWeights) {
  nn::Linear linear(33, 40);
  nn::set_requires_grad(linear);
  nn::AdamW optimizer(linear, {.lr = 0.1});
  const Tensor x = random_tensor({50, 33}, kFloat32, 3);
  const Tensor before = linear(x);
  {
    Tape tape;
    tape.backward(sum(square(linear(x))));
    optimizer.step();
  }
  const Tensor after = linear(x);
  EXPECT_FALSE(same_bits(after, before));
  EXPECT_TRUE(same_bits(after, tessera::linear(x, linear.weight, linear.bias)));
}

TEST(Optimizer, MayStepWhileATapeIsInScopeButNotBetweenForwardAndBackward) {
  nn::Linear linear(3, 2);
  nn::set_requires_grad(linear);
  nn::SGD optimizer(linear);
  const Tensor x = ones({1, 3});
  Tape tape;
  tape.backward(sum(linear(x)));
  optimizer.step();
  const Tensor before = linear.weight->detach().clone();
  const Tensor loss = sum(linear(x));
  fails("SGD", {"weight must not change while a tape", "call step after tape.backward(loss)"},
        [&] { optimizer.step(); });
  EXPECT_TRUE(same_bits(linear.weight->detach(), before));
  tape.backward(loss);
  optimizer.step();
}

TEST(Optimizer, AStepAfterConvertSaysWhatWasReplaced) {
  Pair pair;
  nn::set_requires_grad(pair);
  nn::SGD optimizer(pair);
  nn::convert(pair, kFloat32);  // already has this dtype
  const auto train_once = [&](DType dtype) {
    Tape tape;
    tape.backward(sum(pair.second(pair.first(ones({1, 4}, dtype)))));
    optimizer.step();
  };
  train_once(kFloat32);
  nn::convert(pair.second, kFloat64);
  nn::convert(pair.first, kFloat64);
  const Tensor before = pair.first.weight->detach().clone();
  fails("SGD", {"first.weight must still be a variable of the model", "make the optimiser"},
        [&] { train_once(kFloat64); });
  EXPECT_TRUE(same_bits(pair.first.weight->detach(), before));
  nn::SGD(pair).step();
}

TEST(Optimizer, ReplacedVariablesAreFound) {
  const std::string error = "must still be a variable of the model";
  Pair pair;
  nn::set_requires_grad(pair);
  nn::SGD optimizer(pair);
  const auto step = [&] {
    give_gradient(pair.first.weight, ones(pair.first.weight.shape()));
    optimizer.step();
  };
  Pair own = nn::clone(pair);
  nn::convert(own, kFloat64);
  step();
  give_gradient(pair.second.weight, ones(pair.second.weight.shape()));
  const Tensor frozen = pair.second.weight->detach().clone();
  nn::set_requires_grad(pair.second, false);
  step();  // a frozen part is skipped
  EXPECT_TRUE(same_bits(pair.second.weight, frozen));
  Pair copy = pair;
  nn::convert(copy.first, kFloat64);
  fails("SGD", {"first.weight", error, "nn::clone(module)"}, step);
  nn::SGD(pair.first).zero_grad();  // a new optimiser is made of the present variables
  step();
  Pair other;
  nn::set_requires_grad(other);
  nn::SGD second(other);
  other.second.bias = zeros(other.second.bias.shape());
  give_gradient(other.first.weight, ones(other.first.weight.shape()));
  fails("SGD", {"second.bias", error, "by copy_from(), not by ="}, [&] { second.step(); });
}

// ---- errors ----

TEST(Optimizer, Errors) {
  const nn::Linear fixed(2, 2);
  fails("AdamW", "set_requires_grad", [&] { nn::AdamW optimizer(fixed); });
  const Tensor w = variable(ones({2, 3}));
  const auto error = [&](const std::vector<std::string>& parts, const Parameters& parameters) {
    return throws("SGD", parts, [&] { nn::SGD optimizer(parameters); });
  };
  EXPECT_TRUE(error({"w must require a gradient"}, {{"w", ones({2})}}));
  EXPECT_TRUE(error({"b must appear once", "also as a"}, {{"a", w}, {"b", w}}));
  EXPECT_TRUE(error({"a must appear once"}, {{"a", w}, {"a", variable(w.detach())}}));
  EXPECT_TRUE(
      error({"a and w must not share memory"}, {{"w", w}, {"a", w.detach().set_requires_grad()}}));
  const auto row = [&](index_t begin, index_t end) {
    return w.detach().slice(0, begin, end).set_requires_grad();
  };
  EXPECT_NO_THROW(nn::SGD(nn::Parameters{{"second", row(1, 2)}, {"first", row(0, 1)}}));
  EXPECT_TRUE(
      error({"all and second must not share memory"}, {{"second", row(1, 2)}, {"all", row(0, 2)}}));
  EXPECT_TRUE(
      error({"second and all must not share memory"}, {{"all", row(0, 2)}, {"second", row(1, 2)}}));
  EXPECT_TRUE(error({"must be contiguous"}, {{"w", w.detach().t().set_requires_grad()}}));
  const auto group = one_group(w);
  fails("SGD", {"lr", "-1"}, [&] { nn::SGD optimizer(group, {.lr = -1}); });
  fails("SGD", "nesterov", [&] { nn::SGD optimizer(group, {.nesterov = true}); });
  fails("SGD", {"nesterov", "dampening"},
        [&] { nn::SGD optimizer(group, {.momentum = 0.9, .dampening = 0.1, .nesterov = true}); });
  fails("Adam", {"beta1", "1", "[0, 1)"}, [&] { nn::Adam optimizer(group, {.beta1 = 1}); });
  fails("AdamW", {"eps", "-1"}, [&] { nn::AdamW optimizer(group, {.eps = -1}); });
  fails("AdamW", {"weight_decay", "nan"},
        [&] { nn::AdamW optimizer(group, {.weight_decay = std::nan("")}); });
  nn::SGD optimizer(group);
  fails("SGD", "at least 1 parameter must have a gradient, got none of 1; call tape.backward(loss)",
        [&] { optimizer.step(); });
  w.grad_slot()->gradient = ones({3, 2}).t();
  fails("SGD", "the gradient of w must be contiguous", [&] { optimizer.step(); });
  const Tensor before = w.detach().clone();
  for (const Tensor& wrong : {ones({1}), ones({2, 3}, kFloat64)}) {
    w.grad_slot()->gradient = wrong;
    fails("SGD", "the gradient of w must be float32 (2, 3) like the parameter, got float",
          [&] { optimizer.step(); });
  }
  EXPECT_TRUE(same_bits(w.detach(), before));
  fails("set_lr", "group must be below 1, got 1", [&] { optimizer.set_lr(1, 0.5); });
  fails("set_lr", "lr", [&] { optimizer.set_lr(-0.5); });
}

}  // namespace
}  // namespace tessera::test
