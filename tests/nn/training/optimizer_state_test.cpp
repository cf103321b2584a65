// The states of optimisers: exact, with names for files, and refused if they do not match.
#include "tessera/nn/module.h"
#include "tessera/nn/training/optim.h"
#include "tests/support/checkpoints.h"
#include "tests/support/golden.h"
#include "tests/support/optimizers.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

TEST(OptimizerState, GoesOnToTheBit) {
  const GoldenCase golden("optim");
  const Tensor& gradients = golden.array("gradients");
  constexpr index_t kCut = 5;
  for (const auto& [name, make] : algorithms()) {
    const Tensor w = variable(golden.array("start"));
    const auto optimizer = make(one_group(w));
    Tensor resumed;
    nn::Checkpoint saved;
    for (index_t step = 0; step < gradients.size(0); ++step) {
      if (step == kCut) {
        resumed = variable(w.detach());
        saved = copy_of(optimizer->state());
      }
      give_gradient(w, gradients.select(0, step));
      optimizer->step();
      optimizer->zero_grad();
    }
    // A different rate, which the state replaces.
    const auto second = make(one_group(resumed));
    second->set_lr(1);
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
  const nn::Checkpoint state = adam.state();
  EXPECT_EQ(state.tensors.size(), 8U);
  EXPECT_EQ(state.tensors.at("first.weight.exp_avg").shape(), (Shape{4, 4}));
  EXPECT_EQ(state.tensors.at("first.weight.exp_avg_sq").shape(), (Shape{4, 4}));
  EXPECT_EQ(state.number("first.weight.step"), 0);
  EXPECT_EQ(state.number("group.0.lr"), 1e-3);
  EXPECT_EQ(state.number("beta2"), 0.999);
  EXPECT_FALSE(state.has("beta3"));
  EXPECT_EQ(nn::SGD(pair).state().tensors.size(), 0U);
  EXPECT_TRUE(
      nn::SGD(pair, {.momentum = 0.5}).state().tensors.contains("second.bias.momentum_buffer"));
}

TEST(OptimizerState, OneThatDoesNotFitChangesNothing) {
  const Tensor w = variable(ones({3}));
  nn::AdamW optimizer(one_group(w));
  give_gradient(w, ones({3}));
  optimizer.step();
  const nn::Checkpoint before = copy_of(optimizer.state());
  const auto fails = [&](const std::vector<std::string>& parts, const auto& change) {
    nn::Checkpoint state = copy_of(before);
    for (auto& [name, tensor] : state.tensors) tensor.fill(9);
    for (auto& [name, value] : state.values) value = name == "decoupled" ? "1" : "3";
    for (const char* const option : {"beta1", "beta2", "eps"}) {
      state.values[option] = before.values.at(option);
    }
    change(state);
    EXPECT_TRUE(throws("load_state", parts, [&] { optimizer.load_state(state); }));
    return same_state(optimizer.state(), before);
  };
  using State = nn::Checkpoint;
  const auto with = [](const char* name, const char* value) {
    return [=](State& s) { s.values[name] = value; };
  };
  EXPECT_TRUE(fails({"missing: w.exp_avg"}, [](State& s) { s.tensors.erase("w.exp_avg"); }));
  EXPECT_TRUE(fails({"missing: w.exp_avg", "unexpected: v.exp_avg"}, [](State& s) {
    s.tensors["v.exp_avg"] = s.tensors["w.exp_avg"];
    s.tensors.erase("w.exp_avg");
  }));
  EXPECT_TRUE(fails({"w.exp_avg must have shape (3,), got (4,)"},
                    [](State& s) { s.tensors["w.exp_avg"] = ones({4}); }));
  EXPECT_TRUE(fails({"w.exp_avg must have shape (3,), got none"},
                    [](State& s) { s.tensors["w.exp_avg"] = Tensor(); }));
  EXPECT_TRUE(fails({"missing: decoupled"}, [](State& s) { s.values.erase("decoupled"); }));
  EXPECT_TRUE(fails({"decoupled must be 1 as in this AdamW, got '0'; make an optimiser with"},
                    with("decoupled", "0")));
  EXPECT_TRUE(fails({"beta1 must be 0.9 as in this AdamW, got '0.8'"}, with("beta1", "0.8")));
  EXPECT_TRUE(fails({"eps must be", "got 'nan'"}, with("eps", "nan")));
  EXPECT_TRUE(fails({"w.step", "2.5"}, with("w.step", "2.5")));
  for (const char* const number : {"group.0.lr", "group.0.initial_lr", "group.0.weight_decay"}) {
    const std::string rule = number + std::string(" must be finite and at least 0, got ");
    EXPECT_TRUE(fails({rule + "-1"}, with(number, "-1")));
    EXPECT_TRUE(fails({rule + "inf"}, with(number, "inf")));
  }
}

TEST(OptimizerState, OfOtherOptionsIsRefused) {
  const Tensor w = variable(ones({3}));
  nn::SGD optimizer(one_group(w), {.momentum = 0.5, .dampening = -0.5});
  nn::SGD same(one_group(w), {.momentum = 0.5, .dampening = -0.5});
  same.load_state(optimizer.state());
  nn::SGD other(one_group(w), {.momentum = 0.5, .dampening = 0.25});
  EXPECT_TRUE(throws("load_state", {"dampening must be 0.25 as in this SGD, got '-0.5'"},
                     [&] { other.load_state(optimizer.state()); }));
  nn::SGD nesterov(one_group(w), {.momentum = 0.5, .nesterov = true});
  EXPECT_TRUE(throws("load_state", {"dampening must be 0"},
                     [&] { nesterov.load_state(optimizer.state()); }));
}

}  // namespace
}  // namespace tessera::test
