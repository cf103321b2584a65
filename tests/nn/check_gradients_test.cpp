#include "tessera/nn/check_gradients.h"

#include "tessera/nn/nn.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

/// x^2 with the gradient `factor` x dy, which is right for 2.
Tensor squared(const Tensor& x, double factor) {
  Recording op("squared", {&x});
  return op.finish(square(x), [&] {
    return
        [x = op.save(x), factor](const Tensor& dy, Gradients& dx) { dx.add(0, factor * x * dy); };
  });
}

FeedForward small_model() {
  FeedForward model({.d_model = 3, .dim_feedforward = 4, .dropout = 0.5});
  convert(model, kFloat64);
  set_requires_grad(model);
  return model;
}

TEST(CheckGradients, AcceptsTrueGradientsOfFunctions) {
  const Tensor x = tensor({{1.0, -2.0}, {3.0, 0.5}}, kFloat64);
  check_gradients([](const Tensor& in) { return squared(in, 2); }, x);
  check_gradients([](const Tensor& in) { return squared(in, 2); }, x.t());
  check_gradients([](const Tensor& in) { return squared(in, 2); }, tensor(3.0, kFloat64));
  check_gradients(
      [](std::span<const Tensor> in) { return cross_entropy(in[0], in[1]) + sum(in[2]); },
      {x, tensor({0, 1}), x});
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1, -2, 3, 0.5}));
  EXPECT_FALSE(x.requires_grad());
}

TEST(CheckGradients, NamesTheTensorTheElementAndBothValues) {
  const Tensor x = tensor({{1.0, 3.0}}, kFloat64);
  fails("check_gradients",
        {"gradient of input 0 at (0, 0) must be within 0.00201 of the central difference 2, got 3"},
        [&] { check_gradients([](const Tensor& in) { return sum(squared(in, 3)); }, x); });
  fails("check_gradients", "gradient of input 1 at () must be", [] {
    const Tensor three = tensor(3.0, kFloat64);
    check_gradients([](std::span<const Tensor> in) { return in[0] * squared(in[1], 1.9); },
                    {three, three});
  });
  // The errors of the two elements would cancel in a plain sum.
  const auto reversed = [](const Tensor& in) {
    Recording op("reversed", {&in});
    return op.finish(in.clone(), [] {
      return [](const Tensor& dy, Gradients& dx) { dx.add(0, flip(dy, {1})); };
    });
  };
  fails("check_gradients", "gradient of input 0", [&] { check_gradients(reversed, x); });
}

TEST(CheckGradients, UsesTheTolerancesOfTheOptions) {
  const Tensor x = tensor({1.0, 3.0}, kFloat64);
  const auto f = [](const Tensor& in) { return sum(squared(in, 2.1)); };
  check_gradients(f, x, {.rtol = 0.051});
  check_gradients(f, x, {.atol = 0.31});
  fails("check_gradients", "at (1,)", [&] { check_gradients(f, x, {.atol = 0.2}); });
}

TEST(CheckGradients, ModelsWithDropoutRepeatTheirRandomNumbers) {
  FeedForward model = small_model();
  const Tensor x = randn({5, 3}, kFloat64);
  const StateDict before = state_dict(clone(model));
  const Rng::State state = default_rng().state();
  check_gradients(model, [&] { return model(x); });
  EXPECT_EQ(default_rng().state(), state);
  for (const auto& [name, value] : state_dict(model)) {
    EXPECT_TRUE(same_bits(value, before.at(name))) << name;
    EXPECT_FALSE(value.grad().defined()) << name;
  }
}

TEST(CheckGradients, NamesTheParameterOfAModel) {
  FeedForward model = small_model();
  eval(model);
  const Tensor x = ones({2, 3}, kFloat64);
  const auto loss = [&] { return sum(model(x)) + sum(squared(model.linear2.bias, 3)); };
  model.linear2.bias.fill(1);
  fails("check_gradients", {"gradient of parameter linear2.bias at (0,) must be within", "got 5"},
        [&] { check_gradients(model, loss); });
  set_requires_grad(model.linear2, false);
  check_gradients(model, loss);  // without the frozen parameters
  set_requires_grad(model, false);
  fails("check_gradients", {"must be at least 1, got 0; call nn::set_requires_grad(model) first"},
        [&] { check_gradients(model, loss); });
}

TEST(CheckGradients, AcceptsTiedParameters) {
  std::vector<Linear> model = {Linear(3, 3), Linear(3, 3)};
  for (Linear& part : model) convert(part, kFloat64);
  model[1].weight = *model[0].weight;
  for (Linear& part : model) set_requires_grad(part);
  model[1].weight = *model[0].weight;
  Sequential tied = {model[0], model[1]};
  check_gradients(tied, [&] { return sum(tied(ones({2, 3}, kFloat64))); });
}

TEST(CheckGradients, AParameterWithoutAGradientIsAnError) {
  FeedForward model = small_model();
  fails("check_gradients",
        {"parameter linear2.weight must have a gradient of shape (3, 4), got none; use the tensor"},
        [&] { check_gradients(model, [&] { return sum(model.linear1(ones({3}, kFloat64))); }); });
  fails("check_gradients", "parameter linear1.weight must have a gradient",
        [&] { check_gradients(model, [] { return ones({}, kFloat64); }); });
  fails("check_gradients", "input 0 must have a gradient", [] {
    check_gradients([](const Tensor& x) { return x.detach() * 2; }, ones({2}, kFloat64));
  });
}

TEST(CheckGradients, RefusesFloat32) {
  FeedForward model({.d_model = 3, .dim_feedforward = 4});
  set_requires_grad(model);
  fails(
      "check_gradients",
      {"parameter linear1.weight must be float64, got float32; call nn::convert(model, kFloat64)"},
      [&] { check_gradients(model, [&] { return model(ones({3})); }); });
  const auto f = [](const Tensor& x) { return x.to(kFloat32); };
  fails("check_gradients", {"input 0 must be float64, got float32; call"},
        [&] { check_gradients(f, ones({2})); });
  fails("check_gradients", {"result of the function must be float64, got float32"},
        [&] { check_gradients(f, ones({2}, kFloat64)); });
}

TEST(CheckGradients, RefusesValuesThatChangeOrAreNotFinite) {
  Rng own(3);
  const Tensor x = ones({2}, kFloat64);
  fails("check_gradients", {"value must be finite and the same in each call", "default_rng()"},
        [&] {
          check_gradients([&](const Tensor& in) { return in * uniform(0, 1, {2}, kFloat64, own); },
                          x);
        });
  fails("check_gradients", "value must be finite",
        [&] { check_gradients([](const Tensor& in) { return in / 0; }, x); });
}

TEST(CheckGradients, ChecksAtMostTheGivenNumberOfElements) {
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    ++calls;
    return squared(x, 2);
  };
  check_gradients(f, ones({10, 10}, kFloat64), {.elements = 7});
  EXPECT_EQ(calls, 3 + 2 * 7);
  fails("check_gradients", "central difference",
        [&] { check_gradients(f, ones({2}, kFloat64), {.eps = 0}); });
  fails("check_gradients", "number of tensors that require a gradient must be at least 1, got 0",
        [&] {
          check_gradients(f, tensor({1, 2}));
        });
}

}  // namespace
}  // namespace tessera::nn
