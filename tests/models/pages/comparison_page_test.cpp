// Several runs on one page, and the comparison of their settings by ranks.
#include "tessera/models/pages/comparison_page.h"

#include <cmath>
#include <random>

#include "tessera/models/pages/ranks.h"
#include "tessera/tensor/error.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using namespace test;

TEST(ComparisonPageTest, HasTheLogsNumbers) {
  const std::vector<NamedRun> runs = {
      named_run("<a>", read_run_log("step,loss\n1,4\n2,3\n", "a")),
      named_run("b,seed=1", read_run_log("step,loss,held_out_loss\n1,0.5,5\n2,1,6.5\n", "b"))};
  const std::string html = page_html(comparison_page(runs));
  EXPECT_TRUE(contains(html, "{\"name\":\"\\u003ca>\",\"setting\":\"\",\"seed\":\"\",\"log\":\""));
  EXPECT_TRUE(contains(html, "\\n1,0,4,,,,,,,\\n2,0,3,,,,,,,\\n\"}"));
  EXPECT_TRUE(contains(html, "\"b,seed=1\",\"setting\":\"b\",\"seed\":\"seed=1\""));
  EXPECT_TRUE(contains(html, "\\n2,0,1,,,,,,6.5,\\n\"}"));
  EXPECT_FALSE(contains(html, "<a>"));
  const std::vector<std::vector<std::string>> rows = comparison_rows(runs);
  EXPECT_EQ(rows[2], (std::vector<std::string>{"b,seed=1", "2", "1", "0.5 (step 1)", "6.5",
                                               "5 (step 1)", "-", "-", "-"}));
}

TEST(ComparisonPageTest, NamesLinkToTheRunsPages) {
  const auto steps = read_run_log("step,loss\n1,4\n", "a");
  const std::vector<NamedRun> runs = {{.name = "one", .steps = steps, .page = "one/report.html"},
                                      {.name = "two", .steps = steps}};
  const std::string html = page_html(comparison_page(runs));
  EXPECT_TRUE(contains(html, "<th scope=\"row\"><a href=\"one/report.html\">one</a></th>"));
  EXPECT_TRUE(contains(html, "<th scope=\"row\">two</th>"));
}

TEST(ComparisonRowsTest, AreAlignedForATerminal) {
  EXPECT_EQ(table_text({{"name", "n"}, {"a, b", ""}, {"\"c\"", "12.5"}}),
            "name     n\na, b     -\n\"c\"   12.5\n");
  EXPECT_EQ(table_text({}), "");
}

TEST(NamedRunTest, HasTheSettingAndSeedOfItsName) {
  struct Case {
    const char *name, *setting, *seed;
  };
  for (const auto& [name, setting, seed] : {Case{"runs/lr=1,seed=2", "runs/lr=1", "seed=2"},
                                            {"a,seed=0,b", "a,b", "seed=0"},
                                            {"seed=0,a", "a", "seed=0"},
                                            {"runs/seed=3", "runs", "seed=3"},
                                            {"seed=3", "all runs", "seed=3"},
                                            {"seed=1/log.csv", "", ""},
                                            {"a", "", ""}}) {
    const NamedRun run = named_run(name, {});
    EXPECT_EQ(run.name, name);
    EXPECT_EQ(run.setting, setting) << name;
    EXPECT_EQ(run.seed, seed) << name;
  }
}

/// Two settings with 4 seeds each, whose last steps have these losses.
std::vector<NamedRun> runs_of(const std::vector<double>& losses) {
  std::vector<NamedRun> runs;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    runs.push_back(named_run(str_cat("lr=", i < 4 ? 1 : 2, ",seed=", i % 4),
                             {{.step = 1, .loss = 0.5}, {.step = 2, .loss = losses[i]}}));
  }
  return runs;
}

// By hand: means 2.5 and 4; differences 1, 1, 1, 3, all above 0: p = 2 / 16.
TEST(SettingRowsTest, CompareBySeeds) {
  std::vector<NamedRun> runs = runs_of({1, 2, 3, 4, 2, 3, 4, 7});
  const Rows want = {{"setting", "runs", "mean_loss", "std", "difference", "p", "p_holm"},
                     {"lr=1", "4", "2.5", "1.29099", "", "", ""},
                     {"lr=2", "4", "4", "2.16025", "1.5", "0.125", "0.125"}};
  EXPECT_EQ(setting_rows(runs), want);
  EXPECT_EQ(setting_rows(runs_of({2, 3, 4, 7, 1, 2, 3, 4}))[2][5], "0.125") << "both sides";
  // The runs may come in any order of seeds; one without a seed is not part of the table.
  std::swap(runs[4], runs[7]);
  std::swap(runs[1], runs[5]);
  runs.push_back(named_run("other", {{.step = 1, .loss = 9}}));
  EXPECT_EQ(setting_rows(runs), want);
  // A run that diverged has no difference to others.
  const auto diverged = setting_rows(runs_of({1, 2, 3, 4, 2, std::nan(""), 4, 7}))[2];
  EXPECT_EQ(std::vector(diverged.end() - 3, diverged.end()), std::vector<std::string>(3));
  // A seed that only one has is no pair; a setting with one run has no deviation.
  const std::vector<NamedRun> all = runs_of({1, 2, 3, 4, 2, 3, 4, 7});
  const std::vector<NamedRun> few = {all[0], all[1], all[5]};
  EXPECT_EQ(setting_rows(few)[2], (std::vector<std::string>{"lr=2", "1", "3", "", "1", "1", "1"}));
  EXPECT_EQ(setting_rows(std::span(all).first(2)),
            (Rows{{"setting", "runs", "mean_loss", "std"}, {"lr=1", "2", "1.5", "0.707107"}}));
  EXPECT_TRUE(setting_rows({}).empty());
}

// The evaluation with the smallest loss counts; a measure that only some runs have does not.
TEST(SettingRowsTest, CompareTheFirstMeasureOfAllRuns) {
  std::vector<NamedRun> runs = {
      named_run("seed=0", {{.step = 1, .loss = 3, .held_out_loss = 1, .held_out_accuracy = 0.5},
                           {.step = 2, .loss = 2, .held_out_loss = 4, .held_out_accuracy = 0.25},
                           {.step = 3, .loss = 7, .accuracy = 1}})};
  EXPECT_EQ(setting_rows(runs)[0][2], "mean_held_out_accuracy");
  EXPECT_EQ(setting_rows(runs)[1][2], "0.5");
  runs.push_back(named_run("seed=1", {{.step = 1, .loss = 3, .held_out_loss = 2},
                                      {.step = 2, .loss = 3, .held_out_loss = std::nan("")},
                                      {.step = 3, .loss = 1, .accuracy = 0.5}}));
  EXPECT_EQ(setting_rows(runs)[0][2], "mean_held_out_loss");
  EXPECT_EQ(setting_rows(runs)[1][2], "1.5");
  for (NamedRun& run : runs) {
    for (LoggedStep& step : run.steps) step.held_out_loss = {};
  }
  EXPECT_EQ(setting_rows(runs)[0][2], "mean_accuracy");
  EXPECT_EQ(setting_rows(runs)[1][2], "0.75");
  runs.push_back(named_run("seed=2", {{.step = 1, .loss = 1}}));
  EXPECT_EQ(setting_rows(runs)[0][2], "mean_loss");
  EXPECT_EQ(setting_rows(runs)[1][2], "3");
}

TEST(ComparisonPageTest, HasTheSettings) {
  const std::string html = page_html(comparison_page(runs_of({1, 2, 3, 4, 2, 3, 4, 7})));
  EXPECT_TRUE(contains(html, "<td>1.5</td><td>0.125</td><td>0.125</td>"));
  EXPECT_TRUE(contains(html, "\"setting\":\"lr=2\""));
}

using test::throws;
using Values = std::vector<double>;

TEST(RanksTest, SmallSamplesAreCounted) {
  // All 4 signs positive: 1 of 16; the smallest negative: 2 of 16; zeros left out.
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank_greater(Values{1, 2, 3, 4}), 1.0 / 16);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank_greater(Values{-1, 2, 3, 4, 0}), 2.0 / 16);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank_greater(Values{-1, -2}), 1);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank_greater(Values{0, 0}), 1);
}

/// The largest difference between the exact probabilities and the normal distribution's, if one
/// more value distinguishes the two.
TEST(RanksTest, LargeSamplesContinueSmallOnes) {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> value(0, 15);  // with ties
  double worst = 0;
  for (int trial = 0; trial < 50; ++trial) {
    Values d(40);
    for (double& v : d) v = value(random) - 7.5;
    const double of_signs = wilcoxon_signed_rank_greater(d);
    d.push_back(0.25);
    worst = std::max(worst, std::abs(of_signs - wilcoxon_signed_rank_greater(d)));
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
  EXPECT_TRUE(throws("wilcoxon_signed_rank_greater", {"differences" + why + "1"}, [&] {
    wilcoxon_signed_rank_greater(Values{1, nan});
  }));
  EXPECT_TRUE(throws("median", {"values" + why + "0"}, [&] { median({nan, 1}); }));
  EXPECT_TRUE(throws("hodges_lehmann", {"differences" + why + "2"}, [&] {
    hodges_lehmann(Values{1, 2, nan});
  }));
  EXPECT_TRUE(throws("hodges_lehmann", {"means of pairs", "NaN"}, [&] {
    hodges_lehmann(Values{inf, -inf});
  }));
  EXPECT_TRUE(throws("holm", {"probabilities" + why + "1"}, [&] { holm({0.5, nan}); }));
  EXPECT_EQ(wilcoxon_signed_rank_greater(Values{inf, 1}), 0.25);
}

}  // namespace
}  // namespace tessera::pages
