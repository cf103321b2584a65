#include "tessera/nn/training/lr_scheduler.h"

#include "tessera/nn/training/optim.h"
#include "tests/support/golden.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using nn::constant_schedule;
using nn::cosine_schedule;
using nn::linear_schedule;
using nn::LRScheduler;
using nn::Schedule;

Tensor one_weight() {
  Tensor x = ones({2});
  x.set_requires_grad();
  return x;
}

TEST(LRScheduler, RatesAreThoseOfPyTorch) {
  const std::map<std::string, Schedule> schedules = {
      {"constant", constant_schedule()},  {"constant_warmup", constant_schedule(7)},
      {"linear", linear_schedule(7, 40)}, {"linear_no_warmup", linear_schedule(0, 40)},
      {"cosine", cosine_schedule(7, 40)}, {"cosine_waves", cosine_schedule(3, 40, 1.5)},
  };
  const GoldenCase golden("optim");
  for (const auto& [name, schedule] : schedules) {
    nn::SGD optimizer(nn::Parameters{{"x", one_weight()}}, {.lr = 3e-4});
    LRScheduler scheduler(optimizer, schedule);
    const Tensor& want = golden.array("schedule." + name);
    for (index_t step = 0; step < want.count(); ++step) {
      EXPECT_EQ(optimizer.groups()[0].lr, want.item_at({step})) << name << ", step " << step;
      EXPECT_EQ(scheduler.lr(), optimizer.groups()[0].lr);
      EXPECT_EQ(scheduler.steps(), step);
      scheduler.step();
    }
  }
}

TEST(LRScheduler, MultipliesTheRateThatSetLrGaveBefore) {
  nn::SGD optimizer(nn::Parameters{{"x", one_weight()}}, {.lr = 1});
  optimizer.set_lr(0.5);
  LRScheduler scheduler(optimizer, linear_schedule(0, 4));
  scheduler.step();
  EXPECT_EQ(scheduler.lr(), 0.375);
  optimizer.set_lr(8);  // as in PyTorch, lost at the next step
  scheduler.step();
  EXPECT_EQ(scheduler.lr(), 0.25);
}

// The values of transformers.get_inverse_sqrt_schedule and of StepLR by their formulas.
TEST(LRScheduler, InverseSquareRootsAndSteps) {
  const auto expect_factors = [](const Schedule& schedule,
                                 const std::vector<std::pair<index_t, double>>& factors) {
    for (const auto& [step, factor] : factors) EXPECT_DOUBLE_EQ(schedule(step), factor) << step;
  };
  expect_factors(nn::inverse_sqrt_schedule(4), {{0, 0}, {3, 0.75}, {4, 1}, {16, 0.5}, {400, 0.1}});
  expect_factors(nn::inverse_sqrt_schedule(4, 9), {{2, 0.5}, {4, 1}, {31, 0.5}, {76, 1.0 / 3}});
  expect_factors(nn::inverse_sqrt_schedule(0), {{0, 1}, {30000, 0.5}, {990000, 0.1}});
  expect_factors(nn::step_schedule(30), {{0, 1}, {29, 1}, {30, 0.1}, {59, 0.1}, {60, 0.01}});
  expect_factors(nn::step_schedule(1, 0.5), {{0, 1}, {1, 0.5}, {3, 0.125}});
}

TEST(LRScheduler, EachGroupMayHaveItsOwnSchedule) {
  nn::SGD optimizer({{.parameters = {{"x", one_weight()}}, .lr = 1.0},
                     {.parameters = {{"y", one_weight()}}, .lr = 0.5}});
  const Schedule grows = [](index_t step) { return 1 + static_cast<double>(step); };
  LRScheduler scheduler(optimizer, {linear_schedule(0, 4), grows});
  for (const double step : {0.0, 1.0, 2.0}) {
    EXPECT_EQ(optimizer.groups()[0].lr, 1 - step / 4);
    EXPECT_EQ(optimizer.groups()[1].lr, 0.5 * (1 + step));
    scheduler.step();
  }
  EXPECT_EQ(scheduler.rate(0, 1), 0.75);
  EXPECT_EQ(scheduler.rate(1, 9), 5);
}

TEST(LRScheduler, EachGroupFollowsFromItsOwnRate) {
  nn::SGD optimizer({{.parameters = {{"x", one_weight()}}, .lr = 1.0},
                     {.parameters = {{"y", one_weight()}}, .lr = 0.5}});
  LRScheduler scheduler(optimizer, linear_schedule(2, 6));
  EXPECT_EQ(optimizer.groups()[1].lr, 0);
  for (const double factor : {0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0}) {
    scheduler.step();
    EXPECT_EQ(optimizer.groups()[0].lr, factor);
    EXPECT_EQ(optimizer.groups()[1].lr, factor / 2);
  }
}

TEST(LRScheduler, GoesOnWhereItsStateWasSaved) {
  const nn::Parameters parameters{{"x", one_weight()}};
  nn::SGD optimizer(parameters, {.lr = 0.7});
  LRScheduler scheduler(optimizer, cosine_schedule(3, 20));
  for (int step = 0; step < 9; ++step) scheduler.step();
  const nn::Checkpoint state = scheduler.state();
  const nn::Checkpoint optimizer_state = optimizer.state();

  nn::SGD resumed(parameters, {.lr = 0.1});
  LRScheduler same(resumed, cosine_schedule(3, 20));
  resumed.load_state(optimizer_state);
  EXPECT_EQ(resumed.groups()[0].lr, optimizer.groups()[0].lr);
  same.load_state(state);
  for (int step = 0; step < 9; ++step) {
    EXPECT_EQ(resumed.groups()[0].lr, optimizer.groups()[0].lr);
    scheduler.step();
    same.step();
  }
}

TEST(LRScheduler, AScheduleMadeAfterTheOptimizerIsResumedKnowsTheFirstRate) {
  const nn::Parameters parameters{{"x", one_weight()}};
  nn::SGD optimizer(parameters, {.lr = 0.5});
  LRScheduler scheduler(optimizer, linear_schedule(0, 4));
  scheduler.step();
  nn::SGD resumed(parameters);
  resumed.load_state(optimizer.state());
  LRScheduler same(resumed, linear_schedule(0, 4));
  same.load_state(scheduler.state());
  EXPECT_EQ(same.lr(), 0.375);
}

TEST(LRScheduler, Errors) {
  nn::SGD optimizer(nn::Parameters{{"x", one_weight()}});
  fails("constant_schedule", "-1", [&] { LRScheduler(optimizer, constant_schedule(-1)); });
  const Schedule one = constant_schedule();
  fails("LRScheduler", "schedules must be 1, or 1, one for each group, got 2", [&] {
    LRScheduler(optimizer, {one, one});
  });
  fails("LRScheduler", "got an empty one", [&] { LRScheduler(optimizer, Schedule()); });
  for (const double factor : {-0.5, std::nan(""), HUGE_VAL}) {
    const Schedule wrong = [=](index_t step) { return step < 2 ? 1 : factor; };
    LRScheduler scheduler(optimizer, wrong);
    scheduler.step();
    const std::string rule = "the factor of group 0 must be finite and at least 0, got ";
    fails("LRScheduler", str_cat(rule, factor, " after 2 steps"), [&] { scheduler.step(); });
    EXPECT_EQ(scheduler.steps(), 1);
  }
  LRScheduler scheduler(optimizer, constant_schedule(3));
  fails("LRScheduler", "group must be below 1, got 1", [&] { (void)scheduler.rate(1, 0); });
  const auto refuses = [&](const char* name, double value, const std::vector<std::string>& parts) {
    nn::Checkpoint state;
    state.set(name, value);
    return throws("load_state", parts, [&] { scheduler.load_state(state); });
  };
  EXPECT_TRUE(refuses("steps", 1, {"missing: step", "unexpected: steps"}));
  EXPECT_TRUE(refuses("step", 1.5, {"step must be an integer of at least 0, got 1.5"}));
  EXPECT_TRUE(refuses("step", -1, {"step must be an integer of at least 0, got -1"}));
  EXPECT_EQ(scheduler.steps(), 0);
}

}  // namespace
}  // namespace tessera::test
