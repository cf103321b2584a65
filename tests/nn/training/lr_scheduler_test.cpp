#include "nn/training/lr_scheduler.h"

#include "nn/training/optim.h"
#include "tests/support/golden.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using nn::constant_schedule;
using nn::cosine_schedule;
using nn::linear_schedule;
using nn::LrScheduler;
using nn::Schedule;

Tensor one_weight() {
  Tensor x = ones({2});
  x.set_requires_grad();
  return x;
}

TEST(LrScheduler, RatesAreThoseOfPyTorch) {
  const std::map<std::string, Schedule> schedules = {
      {"constant", constant_schedule()},  {"constant_warmup", constant_schedule(7)},
      {"linear", linear_schedule(7, 40)}, {"linear_no_warmup", linear_schedule(0, 40)},
      {"cosine", cosine_schedule(7, 40)}, {"cosine_waves", cosine_schedule(3, 40, 1.5)},
  };
  const GoldenCase golden("optim");
  for (const auto& [name, schedule] : schedules) {
    nn::SGD optimizer(nn::Parameters{{"x", one_weight()}}, {.lr = 3e-4});
    LrScheduler scheduler(optimizer, schedule);
    const Tensor& want = golden.array("schedule." + name);
    for (index_t step = 0; step < want.count(); ++step) {
      EXPECT_EQ(optimizer.groups()[0].lr, want.item_at({step})) << name << ", step " << step;
      EXPECT_EQ(scheduler.lr(), optimizer.groups()[0].lr);
      EXPECT_EQ(scheduler.steps(), step);
      scheduler.step();
    }
  }
}

TEST(LrScheduler, EachGroupFollowsFromItsOwnRate) {
  nn::SGD optimizer({{.parameters = {{"x", one_weight()}}, .lr = 1.0},
                     {.parameters = {{"y", one_weight()}}, .lr = 0.5}});
  LrScheduler scheduler(optimizer, linear_schedule(2, 6));
  EXPECT_EQ(optimizer.groups()[1].lr, 0);
  for (const double factor : {0.5, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0}) {
    scheduler.step();
    EXPECT_EQ(optimizer.groups()[0].lr, factor);
    EXPECT_EQ(optimizer.groups()[1].lr, factor / 2);
  }
}

TEST(LrScheduler, GoesOnWhereItsStateWasSaved) {
  const nn::Parameters parameters{{"x", one_weight()}};
  nn::SGD optimizer(parameters, {.lr = 0.7});
  LrScheduler scheduler(optimizer, cosine_schedule(3, 20));
  for (int step = 0; step < 9; ++step) scheduler.step();
  const nn::Checkpoint state = scheduler.state();
  const nn::Checkpoint optimizer_state = optimizer.state();

  nn::SGD resumed(parameters, {.lr = 0.1});
  LrScheduler same(resumed, cosine_schedule(3, 20));
  resumed.load_state(optimizer_state);
  EXPECT_EQ(resumed.groups()[0].lr, optimizer.groups()[0].lr);
  same.load_state(state);
  for (int step = 0; step < 9; ++step) {
    EXPECT_EQ(resumed.groups()[0].lr, optimizer.groups()[0].lr);
    scheduler.step();
    same.step();
  }
}

TEST(LrScheduler, AScheduleMadeAfterTheOptimizerIsResumedKnowsTheFirstRate) {
  const nn::Parameters parameters{{"x", one_weight()}};
  nn::SGD optimizer(parameters, {.lr = 0.5});
  LrScheduler scheduler(optimizer, linear_schedule(0, 4));
  scheduler.step();
  nn::SGD resumed(parameters);
  resumed.load_state(optimizer.state());
  LrScheduler same(resumed, linear_schedule(0, 4));
  same.load_state(scheduler.state());
  EXPECT_EQ(same.lr(), 0.375);
}

TEST(LrScheduler, Errors) {
  nn::SGD optimizer(nn::Parameters{{"x", one_weight()}});
  fails("LrScheduler", "-1", [&] { LrScheduler(optimizer, constant_schedule(-1)); });
  LrScheduler scheduler(optimizer, constant_schedule(3));
  const auto refuses = [&](const char* name, double value, const std::vector<std::string>& parts) {
    nn::Checkpoint state;
    state.set(name, value);
    return throws("load_state", parts, [&] { scheduler.load_state(state); });
  };
  EXPECT_TRUE(refuses("steps", 1, {"missing: step", "unexpected: steps"}));
  EXPECT_TRUE(refuses("step", 1.5, {"step must be a whole number of at least 0, got 1.5"}));
  EXPECT_TRUE(refuses("step", -1, {"step must be a whole number of at least 0, got -1"}));
  EXPECT_EQ(scheduler.steps(), 0);
}

}  // namespace
}  // namespace tessera::test
