// The states of optimisers: exact, by names that fit files, and refused where they do not fit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "nn/module.h"
#include "nn/training/optim.h"
#include "tensor/create.h"
#include "tests/support/errors.h"
#include "tests/support/golden.h"
#include "tests/support/optimizers.h"
#include "tests/support/oracle.h"

namespace tessera::test {
namespace {

nn::SavedState clone(const nn::SavedState& state) {
  nn::SavedState copy = state;
  for (auto& [name, tensor] : copy.tensors) tensor = tensor.clone();
  return copy;
}

TEST(OptimizerState, GoesOnToTheBit) {
  const GoldenCase golden("optim");
  const Tensor& gradients = golden.array("gradients");
  constexpr index_t kCut = 5;
  for (const auto& [name, make] : algorithms()) {
    const Tensor w = variable(golden.array("start"));
    const auto optimizer = make(one_group(w));
    Tensor resumed;
    nn::SavedState saved;
    for (index_t step = 0; step < gradients.size(0); ++step) {
      if (step == kCut) {
        resumed = variable(w.detach());
        saved = clone(optimizer->state());
      }
      give_gradient(w, gradients.select(0, step));
      optimizer->step();
      optimizer->zero_grad();
    }
    // Another rate, which the state replaces, and another order, as a file may have.
    const auto second = make(one_group(resumed));
    second->set_lr(1);
    std::reverse(saved.tensors.begin(), saved.tensors.end());
    std::reverse(saved.numbers.begin(), saved.numbers.end());
    second->load_state(saved);
    for (index_t step = kCut; step < gradients.size(0); ++step) {
      give_gradient(resumed, gradients.select(0, step));
      second->step();
      second->zero_grad();
    }
    EXPECT_TRUE(same_bits(resumed.detach(), w.detach())) << name;
  }
}

TEST(OptimizerState, HasNamesForFiles) {
  Pair pair;
  nn::set_requires_grad(pair);
  const nn::AdamW adam(pair);
  const nn::SavedState state = adam.state();
  EXPECT_EQ(state.tensors.size(), 8U);
  EXPECT_EQ(state.tensors[0].first, "first.weight.exp_avg");
  EXPECT_EQ(state.tensors[1].first, "first.weight.exp_avg_sq");
  EXPECT_EQ(state.tensors[1].second.shape(), (Shape{4, 4}));
  EXPECT_EQ(*state.find_number("first.weight.step"), 0);
  EXPECT_EQ(*state.find_number("group.0.lr"), 1e-3);
  EXPECT_EQ(*state.find_number("beta2"), 0.999);
  EXPECT_EQ(state.find_number("beta3"), nullptr);
  EXPECT_EQ(nn::SGD(pair).state().tensors.size(), 0U);
  EXPECT_EQ(nn::SGD(pair, {.momentum = 0.5}).state().tensors[3].first,
            "second.bias.momentum_buffer");
}

TEST(OptimizerState, OneThatDoesNotFitChangesNothing) {
  const Tensor w = variable(ones({3}));
  nn::AdamW optimizer(one_group(w));
  give_gradient(w, ones({3}));
  optimizer.step();
  const nn::SavedState before = clone(optimizer.state());
  const auto fails = [&](const std::vector<std::string>& parts, const auto& change) {
    nn::SavedState state = clone(before);
    for (auto& [name, tensor] : state.tensors) tensor.fill(9);
    for (auto& [name, number] : state.numbers) number = name == "decoupled" ? 1 : 3;
    state.numbers[1].second = state.numbers[2].second = 0.5;  // beta1, beta2
    change(state);
    auto result = throws("load_state", parts, [&] { optimizer.load_state(state); });
    const nn::SavedState after = optimizer.state();
    for (std::size_t i = 0; i < after.tensors.size(); ++i) {
      if (!same_bits(after.tensors[i].second, before.tensors[i].second)) {
        return ::testing::AssertionFailure() << after.tensors[i].first << " has changed";
      }
    }
    if (after.numbers != before.numbers) return ::testing::AssertionFailure() << "numbers changed";
    return result;
  };
  using State = nn::SavedState;
  EXPECT_TRUE(fails({"missing: w.exp_avg"}, [](State& s) { s.tensors.erase(s.tensors.begin()); }));
  EXPECT_TRUE(fails({"missing: w.exp_avg", "unexpected: v.exp_avg"},
                    [](State& s) { s.tensors[0].first = "v.exp_avg"; }));
  EXPECT_TRUE(fails({"w.exp_avg should have shape (3,), not (4,)"},
                    [](State& s) { s.tensors[0].second = ones({4}); }));
  EXPECT_TRUE(fails({"w.exp_avg should have shape (3,), not none"},
                    [](State& s) { s.tensors[0].second = Tensor(); }));
  EXPECT_TRUE(fails({"missing: decoupled"}, [](State& s) { s.numbers.erase(s.numbers.begin()); }));
  EXPECT_TRUE(fails({"another algorithm", "AdamW"}, [](State& s) { s.numbers[0].second = 0; }));
  EXPECT_TRUE(fails({"w.step", "2.5"}, [](State& s) { s.numbers.back().second = 2.5; }));
  EXPECT_TRUE(fails({"beta1", "[0, 1)"}, [](State& s) { s.numbers[1].second = 1; }));
  EXPECT_TRUE(fails({"eps", "nan"}, [](State& s) { s.numbers[3].second = std::nan(""); }));
}

TEST(OptimizerState, NesterovWantsWhatItWantedAtFirst) {
  const Tensor w = variable(ones({3}));
  nn::SGD optimizer(one_group(w), {.momentum = 0.5, .nesterov = true});
  for (const char* number : {"momentum", "dampening"}) {
    nn::SavedState state = clone(optimizer.state());
    for (auto& [name, value] : state.numbers) {
      if (name == number) value = name == "momentum" ? 0 : 0.25;
    }
    EXPECT_TRUE(throws("load_state", {"nesterov", "momentum", "no dampening"},
                       [&] { optimizer.load_state(state); }));
  }
  EXPECT_EQ(*optimizer.state().find_number("momentum"), 0.5);
}

TEST(OptimizerState, OptionsAreAsFreeAsAtFirst) {
  const Tensor w = variable(ones({3}));
  nn::SGD optimizer(one_group(w), {.momentum = 0.5, .dampening = -0.5});
  optimizer.load_state(clone(optimizer.state()));
  EXPECT_EQ(*optimizer.state().find_number("dampening"), -0.5);
}

}  // namespace
}  // namespace tessera::test
