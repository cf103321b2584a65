#include "tessera/nn/training/early_stopping.h"

#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using test::fails;

TEST(EarlyStopping, KeepsTheBestWeightsAndCountsWhatComesInVain) {
  Parameters parameters = {{"w", zeros({2}).set_requires_grad()}};
  EarlyStopping best(parameters, {.patience = 2});
  EXPECT_TRUE(best.state().tensors.empty());
  EXPECT_FALSE(best.best_step());
  const auto add = [&](double score, index_t step) {
    parameters[0].tensor.fill(static_cast<double>(step));
    return best.add(score, step);
  };
  EXPECT_FALSE(add(std::nan(""), 1));
  EXPECT_TRUE(add(0.5, 2));
  EXPECT_FALSE(add(0.5, 3));  // not better
  EXPECT_FALSE(best.is_over());
  EXPECT_TRUE(add(0.6, 4));
  EXPECT_FALSE(add(0.1, 5));
  EXPECT_FALSE(best.is_over());
  EXPECT_FALSE(add(std::nan(""), 6));
  EXPECT_TRUE(best.is_over());
  EXPECT_EQ(best.best_step(), 4);
  EXPECT_EQ(best.best_score(), 0.6);
  EXPECT_EQ(best.state().tensors.at("w").item_at({0}), 4);

  EarlyStopping resumed(parameters, {.patience = 3});
  resumed.load_state(best.state());
  EXPECT_FALSE(resumed.is_over());  // by its own patience
  EXPECT_FALSE(resumed.add(0.55, 7));
  EXPECT_TRUE(resumed.is_over());
  EXPECT_EQ(resumed.state().tensors.at("w").item_at({0}), 4);
  EXPECT_EQ(resumed.best_step(), 4);
  resumed.load_state({});  // from a run before its first evaluation
  EXPECT_FALSE(resumed.best_step());
  EXPECT_TRUE(resumed.add(0.1, 8));
}

TEST(EarlyStopping, NeverEndsWithoutPatienceAndNeedsNoWeights) {
  EarlyStopping best({{"w", ones({1}).set_requires_grad()}}, {.keep_weights = false});
  for (index_t step = 0; step < 9; ++step) best.add(0, step);
  EXPECT_FALSE(best.is_over());
  EXPECT_EQ(best.best_step(), 0);
  EXPECT_TRUE(best.state().tensors.empty());
  EarlyStopping resumed({}, {.patience = 8});
  resumed.load_state(best.state());
  EXPECT_TRUE(resumed.is_over());
}

TEST(EarlyStopping, Errors) {
  fails("EarlyStopping", "-1", [] { EarlyStopping({}, {.patience = -1}); });
  EarlyStopping best({{"w", ones({1}).set_requires_grad()}});
  fails("load_state", {"missing: w", "unexpected: v"}, [&] {
    best.load_state({.tensors = {{"v", ones({1})}}});
  });
  fails("load_state", "in_vain must be an integer of at least 0, got -1", [&] {
    best.load_state({.tensors = {}, .values = {{"in_vain", "-1"}}});
  });
}

}  // namespace
}  // namespace tessera::nn
