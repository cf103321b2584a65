// The statistics by simulation, with a fixed seed: equal code raises no alarm, and changes of 3 %
// are found, in normal noise, in heavy tails, with drifting clocks, and in both.
//
// This tests the statistics under such noise, not whether the noise of a machine is like it:
// `tessera_bench --slow 0.03` tests comparisons on a machine.
#include "bench/results/comparison.h"

#include <ostream>
#include <random>

#include "tessera/tensor/error.h"
#include "tests/support/test.h"

namespace tessera::results {
namespace {

using Random = std::mt19937;

/// The disturbance of measurement number `i` by a machine: the clock's share of the time, and that
/// of the call.
struct Noise {
  const char* name;
  std::function<double(Random&, int i)> clock;
  std::function<double(Random&)> call;
};

void PrintTo(const Noise& noise, std::ostream* out) {
  *out << noise.name;
}

double normal(Random& random, double deviation) {
  return std::normal_distribution<double>(0, deviation)(random);
}

/// Other programs: no delay in 9 of 10 measurements, otherwise a delay of any size.
double contention(Random& random) {
  if (std::uniform_real_distribution<double>(0, 1)(random) < 0.9) return normal(random, 0.004);
  const double u = std::uniform_real_distribution<double>(0.02, 1)(random);
  return 0.02 / u;
}

const std::vector<Noise>& noises() {
  static const std::vector<Noise> kNoises = {
      {"normal", [](Random&, int) { return 0.0; }, [](Random& r) { return normal(r, 0.012); }},
      {"heavy", [](Random&, int) { return 0.0; }, contention},
      {"drift",
       [](Random& r, int i) { return 0.004 * i + 0.1 * std::sin(i / 9.0) + normal(r, 0.01); },
       [](Random& r) { return normal(r, 0.005); }},
      {"drift_and_heavy", [](Random&, int i) { return 0.05 * std::sin(i / 7.0); }, contention},
  };
  return kNoises;
}

constexpr int kRounds = 100;  // the default of tessera_bench_compare

/// Cases whose first `slower` ones take `factor` times as long in the new version.
std::vector<CaseRounds> measured(Random& random, const Noise& noise, int cases, int slower,
                                 double factor) {
  std::vector<CaseRounds> result;
  for (int c = 0; c < cases; ++c) {
    CaseRounds runs{.name = str_cat("case:", c), .by = "tessera", .threads = 2};
    for (int i = 0; i < 2 * kRounds; ++i) {
      const bool is_new = i % 4 == 1 || i % 4 == 2;  // old new new old
      const double clock = noise.clock(random, i);
      const double time = 1e-3 * std::exp(clock + noise.call(random));
      (is_new ? runs.new_s : runs.old_s).push_back(is_new && c < slower ? time * factor : time);
    }
    result.push_back(std::move(runs));
  }
  return result;
}

class ComparisonTest : public ::testing::TestWithParam<Noise> {};

TEST_P(ComparisonTest, EqualCodeRaisesNoAlarm) {
  Random random(1);
  int alarms = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Comparison c = compare_rounds(measured(random, GetParam(), 5, 0, 1));
    alarms += c.slower() ? 1 : 0;
  }
  EXPECT_LE(alarms, 2) << "of 200, where alpha allows 0.6";
}

TEST_P(ComparisonTest, ThreePercentAreFound) {
  Random random(2);
  int found = 0;
  int wrong = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Comparison c = compare_rounds(measured(random, GetParam(), 5, 1, 1.03));
    found += c.cases[0].verdict == Change::kSlower ? 1 : 0;
    for (std::size_t i = 1; i < c.cases.size(); ++i) {
      wrong += c.cases[i].verdict != Change::kSame ? 1 : 0;
    }
  }
  EXPECT_GE(found, 95);
  EXPECT_LE(wrong, 1);
}

INSTANTIATE_TEST_SUITE_P(Noises, ComparisonTest, ::testing::ValuesIn(noises()),
                         [](const auto& noise) { return std::string(noise.param.name); });

/// Rounds of cases with the same times in all rounds.
std::vector<Results> rounds_of(const std::string& name, std::initializer_list<double> bests) {
  std::string cases;
  int i = 0;
  for (const double best : bests) {
    cases += str_cat(cases.empty() ? "" : ",", R"({"name":"case:)", i++,
                     R"(","threads":1,"best_s":)", best, "}");
  }
  const Results round = parse_results(str_cat(R"({"machine":{},"cases":[)", cases, "]}"), name);
  return std::vector<Results>(12, round);
}

TEST(CompareRoundsTest, ChangedCasesComeFirst) {
  const Comparison c = compare_rounds(rounds_of("old", {1e-3, 1e-3, 1e-3}),
                                      rounds_of("new", {1.004e-3, 1.3e-3, 0.7e-3}));
  EXPECT_EQ(c.cases[0].verdict, Change::kSame);
  EXPECT_EQ(c.cases[1].verdict, Change::kSlower);
  EXPECT_EQ(c.cases[2].verdict, Change::kFaster);
  EXPECT_NEAR(c.cases[1].change, 0.3, 1e-9);
  EXPECT_TRUE(c.slower());
  const std::string text = table(c);
  EXPECT_LT(text.find("case:1"), text.find("case:0")) << "the slower one comes first\n" << text;
  EXPECT_TRUE(test::contains(text, "1 slower, 1 faster, 1 the same"));
}

TEST(CompareRoundsTest, NamesOnOneSideAreTold) {
  const Comparison c = compare_rounds(rounds_of("old", {1e-3, 1e-3}), rounds_of("new", {1e-3}));
  EXPECT_EQ(c.only_old, std::vector<std::string>{"case:1"});
  EXPECT_THROW(compare_rounds(rounds_of("old", {}), rounds_of("new", {1})), std::runtime_error);
  EXPECT_THROW(compare_rounds({{.name = "a", .old_s = {1, 2}, .new_s = {1}}}),
               std::invalid_argument);
}

TEST(CompareRoundsTest, ManyCasesNeedMoreRounds) {
  const CompareOptions options = {.alpha = 0.002};
  EXPECT_EQ(least_rounds(1, options), 9);   // 2^-9 = 0.00195
  EXPECT_EQ(least_rounds(8, options), 12);  // 8 * 2^-12 = 0.00195
}

}  // namespace
}  // namespace tessera::results
