#include "tessera/nn/training/loss_sum.h"

#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using test::fails;

TEST(SummedCrossEntropy, SumsAndCountsTheTargetsThatAreNotIgnored) {
  const Tensor scores =
      tensor({{3.0, 1.0, 2.0}, {0.0, 5.0, 1.0}, {1.0, 2.0, 3.0}, {9.0, 0.0, 0.0}});
  const Tensor targets = from_vector<index_t>({0, 2, 2, -1});
  const LossSum sum = summed_cross_entropy(scores, targets, {.ignore_index = -1});
  EXPECT_EQ(sum.count, 3);
  EXPECT_EQ(sum.correct, 2);
  const CrossEntropyOptions summed = {.ignore_index = -1, .reduction = Reduction::kSum};
  EXPECT_EQ(sum.loss.item(), cross_entropy(scores, targets, summed).item());
  // Ignored targets are not correct either.
  EXPECT_EQ(summed_cross_entropy(scores, full({4}, -100, kInt64)).correct, 0);
  fails("summed_cross_entropy", "weights",
        [&] { summed_cross_entropy(scores, targets, {.weight = ones({3})}); });
}

TEST(SummedMean, IsConvertedToASum) {
  const LossSum sum = summed_mean(full({}, 1.5), 4, 3);
  EXPECT_EQ(sum.loss.item(), 6);
  EXPECT_EQ(totals_of(sum).mean(), 1.5);
  EXPECT_EQ(sum.correct, 3);
  EXPECT_EQ(totals_of(summed_mean(full({}, std::nan("")), 0)).loss, 0);  // no targets
}

TEST(LossSum, MustHaveACount) {
  const std::string error =
      "count must be finite and at least 0, got NaN, or no count; return {sum of the losses, "
      "number of "
      "targets}, or summed_mean(mean of the losses, number of targets)";
  fails("LossSum", error, [] { totals_of({full({}, 3)}); });
}

TEST(SummedCrossEntropy, CountsNothingIfScoresAreNaN) {
  const Tensor scores = full({4, 3}, std::nan(""));
  const LossSum sum = summed_cross_entropy(scores, zeros({4}, kInt64));
  EXPECT_TRUE(std::isnan(sum.correct));
  EXPECT_EQ(sum.count, 4);
}

TEST(SummedSquaredError, CountsValues) {
  const LossSum sum = summed_squared_error(tensor({1.0, 4.0, 0.0}), tensor({0.0, 2.0, 0.0}));
  EXPECT_EQ(sum.loss.item(), 5);
  EXPECT_EQ(sum.count, 3);
  EXPECT_TRUE(std::isnan(sum.correct));  // nothing counts correct numbers
}

TEST(SummedContrastive, CountsTheQueriesWhoseOwnKeyIsTheNearest) {
  // By cosines the second query is nearer to the first key; by products to its own, the longest.
  const Tensor queries = tensor({{1.0, 0.0}, {0.8, 0.6}, {-1.0, 0.1}});
  const Tensor keys = tensor({{1.0, 0.2}, {0.0, 9.0}, {-2.0, 0.0}, {0.0, -1.0}});
  for (const bool normalize : {true, false}) {
    const InfoNceOptions options = {.temperature = 0.5, .normalize = normalize};
    const LossSum sum = summed_info_nce(queries, keys, options);
    EXPECT_EQ(sum.count, 3);
    EXPECT_EQ(sum.correct, normalize ? 2 : 3);
    EXPECT_NEAR(sum.loss.item() / 3, info_nce_loss(queries, keys, options).item(), 1e-6);
  }
  // Half a batch has fewer negatives, so its sum is different.
  const Tensor own = keys.slice(0, 0, 3);
  const double whole = summed_info_nce(queries, own).loss.item();
  EXPECT_GT(whole, summed_info_nce(queries.slice(0, 0, 1), own.slice(0, 0, 1)).loss.item());
}

TEST(LossTotals, AddUpToMeans) {
  LossTotals totals;
  EXPECT_EQ(totals_of({.loss = Tensor(), .count = 0}).loss, 0);
  totals.add(totals_of({.loss = full({}, 3), .count = 4, .correct = 1}));
  totals.add({1, 4, 1});
  EXPECT_EQ(totals.mean(), 0.5);
  EXPECT_EQ(totals.accuracy(), 0.25);
  for (const double count : {-1.0, std::nan("")}) {
    fails("LossSum", "count must be finite and at least 0",
          [&] { totals_of({.loss = full({}, 3), .count = count}); });
  }
  for (const double correct : {-1.0, 2.5}) {
    fails("LossSum", "correct must be from 0 to count, 2, got ",
          [&] { totals_of({.loss = full({}, 3), .count = 2, .correct = correct}); });
  }
  fails("LossSum", "count must be 0 or at least 1e-300", [&] { totals_of({full({}, 3), 1e-320}); });
  EXPECT_TRUE(std::isnan(totals_of({full({}, 3), 2}).accuracy()));
}

}  // namespace
}  // namespace tessera::nn
