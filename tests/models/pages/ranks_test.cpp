#include "models/pages/ranks.h"

#include <random>

#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using test::throws;
using Values = std::vector<double>;

TEST(RanksTest, SmallSamplesAreCounted) {
  // All 4 signs positive: 1 of 16; the smallest negative: 2 of 16; zeros left out.
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Values{1, 2, 3, 4}), 1.0 / 16);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Values{-1, 2, 3, 4, 0}), 2.0 / 16);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Values{-1, -2}), 1);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(Values{0, 0}), 1);
}

/// The largest difference between the exact probabilities and the normal distribution's, where one
/// more value is what tells one from the other.
TEST(RanksTest, LargeSamplesContinueSmallOnes) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> value(0, 15);  // with ties
  double worst = 0;
  for (int trial = 0; trial < 50; ++trial) {
    Values d(40);
    for (double& v : d) v = value(random) - 7.5;
    const double of_signs = wilcoxon_signed_rank(d);
    d.push_back(0.25);
    worst = std::max(worst, std::abs(of_signs - wilcoxon_signed_rank(d)));
  }
  EXPECT_LT(worst, 0.1);
  EXPECT_GT(worst, 0);
}

TEST(RanksTest, Medians) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(hodges_lehmann(Values{1, 2, 3, 100}), 2.75);
  EXPECT_THROW(median({}), std::invalid_argument);
}

TEST(RanksTest, HolmMultipliesByWhatIsLeft) {
  EXPECT_EQ(holm({0.01, 0.04, 0.03, 0.5}), (Values{0.04, 0.09, 0.09, 0.5}));
  EXPECT_EQ(holm({0.6, 0.7}), (Values{1, 1}));
  EXPECT_EQ(holm({}), Values{});
}

TEST(RanksTest, NanHasNoRank) {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const std::string why = " must not be NaN, got NaN at index ";
  EXPECT_TRUE(throws("wilcoxon_signed_rank", {"differences" + why + "1"}, [&] {
    wilcoxon_signed_rank(Values{1, nan});
  }));
  EXPECT_TRUE(throws("median", {"values" + why + "0"}, [&] { median({nan, 1}); }));
  EXPECT_TRUE(throws("hodges_lehmann", {"differences" + why + "2"}, [&] {
    hodges_lehmann(Values{1, 2, nan});
  }));
  EXPECT_TRUE(throws("hodges_lehmann", {"means of pairs", "NaN"}, [&] {
    hodges_lehmann(Values{inf, -inf});
  }));
  EXPECT_TRUE(throws("holm", {"probabilities" + why + "1"}, [&] { holm({0.5, nan}); }));
  EXPECT_EQ(wilcoxon_signed_rank(Values{inf, 1}), 0.25);
}

}  // namespace
}  // namespace tessera::pages
