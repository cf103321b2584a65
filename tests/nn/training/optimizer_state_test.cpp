// The states of optimisers: exact, with names for files, and refused if they do not match.
#include "nn/module.h"
#include "nn/training/optim.h"
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
    state.values["beta1"] = state.values["beta2"] = "0.5";
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
  EXPECT_TRUE(fails({"decoupled must be 1 for AdamW, got '0'", "the same algorithm"},
                    with("decoupled", "0")));
  EXPECT_TRUE(fails({"w.step", "2.5"}, with("w.step", "2.5")));
  EXPECT_TRUE(fails({"beta1", "[0, 1)"}, with("beta1", "1")));
  EXPECT_TRUE(fails({"eps", "nan"}, with("eps", "nan")));
}

TEST(OptimizerState, NesterovWantsWhatItWantedAtFirst) {
  const Tensor w = variable(ones({3}));
  nn::SGD optimizer(one_group(w), {.momentum = 0.5, .nesterov = true});
  for (const char* number : {"momentum", "dampening"}) {
    nn::Checkpoint state = copy_of(optimizer.state());
    state.set(number, number == std::string("momentum") ? 0 : 0.25);
    EXPECT_TRUE(throws("load_state", {"nesterov", "momentum above 0", "dampening 0"},
                       [&] { optimizer.load_state(state); }));
  }
  nn::Checkpoint state = copy_of(optimizer.state());
  state.set("nesterov", 0.5);
  EXPECT_TRUE(throws("load_state", {"nesterov must be 0 or 1, got 0.5"},
                     [&] { optimizer.load_state(state); }));
  EXPECT_EQ(optimizer.state().number("momentum"), 0.5);
  EXPECT_EQ(optimizer.state().number("nesterov"), 1);
}

TEST(OptimizerState, OptionsAreAsFreeAsAtFirst) {
  const Tensor w = variable(ones({3}));
  nn::SGD optimizer(one_group(w), {.momentum = 0.5, .dampening = -0.5});
  optimizer.load_state(copy_of(optimizer.state()));
  EXPECT_EQ(optimizer.state().number("dampening"), -0.5);
}

}  // namespace
}  // namespace tessera::test
