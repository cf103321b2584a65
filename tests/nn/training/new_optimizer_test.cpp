// A new optimiser is a class with options and an update: groups, steps, errors and states follow.
#include "tessera/nn/training/optimizer.h"
#include "tests/support/optimizers.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

struct SignOptions {
  double lr = 0.5;
  double weight_decay = 0;
  double beta = 0.5;
};

/// w -= lr sign(m) with m = beta m + (1 - beta) g.
class Sign final : public nn::Optimizer {
 public:
  explicit Sign(std::vector<nn::ParameterGroup> groups, const SignOptions& o = {})
      : Optimizer({.name = "Sign", .options = {{"beta", o.beta}}, .kept = {"mean"}},
                  std::move(groups), o.lr, o.weight_decay),
        beta_(static_cast<float>(o.beta)) {}

 private:
  void update(const nn::ParameterSlice& s) const override {
    for (index_t i = 0; i < s.count; ++i) {
      float& m = s.kept_as<float>(0)[i];
      m = beta_ * m + (1 - beta_) * s.gradient_as<float>()[i];
      s.weights_as<float>()[i] -= static_cast<float>(s.lr) * std::copysign(1.0F, m);
    }
  }

  float beta_;
};

TEST(NewOptimizer, NeedsOptionsAndAnUpdate) {
  const index_t count = 100'000;  // several threads' worth
  const Tensor w = variable(zeros({count}));
  const Tensor v = variable(full({3}, 7));
  Sign optimizer({{.parameters = {{"w", w}}}, {.parameters = {{"v", v}}, .lr = 2.0}});
  Tensor gradient = ones({count});
  gradient.slice(0, 70'000).fill(-1);
  for (int step = 0; step < 2; ++step) {
    give_gradient(w, gradient);
    if (step == 1) give_gradient(v, ones({3}));
    optimizer.step();
    optimizer.zero_grad();
  }
  EXPECT_EQ(w.detach().item_at({0}), -1);
  EXPECT_EQ(w.detach().item_at({69'999}), -1);
  EXPECT_EQ(w.detach().item_at({70'000}), 1);
  EXPECT_EQ(w.detach().item_at({count - 1}), 1);
  EXPECT_EQ(v.detach().item_at({2}), 5);

  const nn::Checkpoint state = optimizer.state();
  EXPECT_EQ(state.tensors.at("w.mean").item_at({0}), 0.75);
  EXPECT_EQ(state.number("w.step"), 2);
  EXPECT_EQ(state.number("v.step"), 1);
  EXPECT_EQ(state.number("beta"), 0.5);
  EXPECT_EQ(state.number("group.1.lr"), 2);
  Sign resumed({{.parameters = {{"w", variable(zeros({count}))}}},
                {.parameters = {{"v", variable(zeros({3}))}}}});
  resumed.load_state(state);
  EXPECT_EQ(resumed.state().values, state.values);
  EXPECT_TRUE(same_bits(resumed.state().tensors.at("w.mean"), state.tensors.at("w.mean")));
}

TEST(NewOptimizer, ItsErrorsFollow) {
  const Tensor w = variable(ones({3}));
  EXPECT_TRUE(throws("Sign", {"lr must be finite and at least 0, got -1"},
                     [&] { Sign(one_group(w), {.lr = -1}); }));
  EXPECT_TRUE(throws("Sign", {"must require a gradient"}, [&] { Sign(one_group(ones({3}))); }));
  Sign optimizer(one_group(w));
  nn::Checkpoint state = optimizer.state();
  state.set("beta", 0.25);
  EXPECT_TRUE(throws("load_state", {"beta must be 0.5 as in this Sign, got '0.25'"},
                     [&] { optimizer.load_state(state); }));
}

}  // namespace
}  // namespace tessera::test
