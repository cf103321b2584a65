#include "tessera/nn/training/weight_average.h"

#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

Parameters one_parameter(double value) {
  return {{"w", full({3}, value, kFloat64).set_requires_grad()}};
}

TEST(WeightAverage, FollowsItsFormula) {
  Parameters parameters = one_parameter(1);
  WeightAverage average(parameters, 0.5);
  double want = 1;
  for (int t = 0; t < 20; ++t) {
    parameters[0].tensor.fill(t * t);
    average.update();
    const double decay = std::min(0.5, (1.0 + t) / (10.0 + t));
    want = decay * want + (1 - decay) * (t * t);
    EXPECT_DOUBLE_EQ(average.averages().at("w").item_at({2}), want) << t;
  }
}

TEST(WeightAverage, StandsInForTheWeightsWhileAScopeLives) {
  Parameters parameters = one_parameter(1);
  WeightAverage average(parameters, 0.5);
  parameters[0].tensor.fill(8);
  const std::uint64_t version = parameters[0].tensor.storage().version();
  {
    const WeightAverage::Scope scope(average);
    EXPECT_EQ(parameters[0].tensor.item_at({0}), 1);
    EXPECT_GT(parameters[0].tensor.storage().version(), version);  // packed copies are stale now
  }
  EXPECT_EQ(parameters[0].tensor.item_at({0}), 8);
  EXPECT_EQ(average.averages().at("w").item_at({0}), 1);
}

TEST(WeightAverage, GoesOnFromItsState) {
  Parameters parameters = one_parameter(1);
  WeightAverage average(parameters, 0.9);
  for (int t = 0; t < 3; ++t) average.update();
  WeightAverage resumed(one_parameter(7), 0.9);
  resumed.load_state(average.state());
  EXPECT_TRUE(same_bits(resumed.averages().at("w"), average.averages().at("w")));
  EXPECT_EQ(resumed.state().values, average.state().values);
  fails("load_state", {"missing: w", "missing: updates", "unexpected: v"}, [&] {
    resumed.load_state({.tensors = {{"v", ones({3})}}});
  });
  {
    const WeightAverage::Scope scope(average);
    fails("WeightAverage", "at most one Scope at a time", [&] { WeightAverage::Scope{average}; });
  }
  const WeightAverage::Scope again(average);
  fails("WeightAverage", "names of parameters must differ, got 'w' twice", [&] {
    WeightAverage({parameters[0], one_parameter(1)[0]}, 0.9);
  });
  fails("WeightAverage", "decay must be in [0, 1), got 1", [&] { WeightAverage(parameters, 1); });
}

}  // namespace
}  // namespace tessera::nn
