#include "nn/training/loss_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/create.h"
#include "tests/support/errors.h"
#include "tests/support/oracle.h"

namespace tessera::nn {
namespace {

TEST(SummedCrossEntropy, SumsAndCountsTheTargetsThatAreNotIgnored) {
  const Tensor scores =
      tensor({{3.0, 1.0, 2.0}, {0.0, 5.0, 1.0}, {1.0, 2.0, 3.0}, {9.0, 0.0, 0.0}});
  const Tensor targets = from_vector<index_t>({0, 2, 2, -1});
  const LossSum sum = summed_cross_entropy(scores, targets, {.ignore_index = -1});
  EXPECT_EQ(sum.count, 3);
  EXPECT_EQ(sum.correct, 2);
  const CrossEntropyOptions summed = {.ignore_index = -1, .reduction = Reduction::kSum};
  EXPECT_EQ(sum.loss.item(), cross_entropy(scores, targets, summed).item());
  // What is ignored is not right either.
  EXPECT_EQ(summed_cross_entropy(scores, full({4}, -100, kInt64)).correct, 0);
  EXPECT_TRUE(test::throws("summed_cross_entropy", {"weights"},
                           [&] { summed_cross_entropy(scores, targets, {.weight = ones({3})}); }));
}

TEST(LossTotals, AddUpToMeans) {
  LossTotals totals;
  EXPECT_EQ(totals_of({.loss = Tensor(), .count = 0}).loss, 0);
  totals.add(totals_of({.loss = full({}, 3), .count = 4, .correct = 1}));
  totals.add({1, 4, 1});
  EXPECT_EQ(totals.mean(), 0.5);
  EXPECT_EQ(totals.accuracy(), 0.25);
  for (const double count : {-1.0, std::nan("")}) {
    EXPECT_TRUE(test::throws("LossSum", {"count is"},
                             [&] { totals_of({.loss = full({}, 3), .count = count}); }));
  }
}

}  // namespace
}  // namespace tessera::nn
