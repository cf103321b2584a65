#include "bench/results/results.h"

#include "bench/results/units.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::results {
namespace {

constexpr const char* kOne = R"({"machine":{"cpu":"X"},"cases":[
  {"name":"matmul/M:2/N:3/K:4","by":"tessera","threads":2,"best_s":2e-6,"flops":48,"label":"x"},
  {"name":"softmax/rows:1/cols:2","by":"tessera","threads":2,"failure":"wrong result"}]})";
constexpr const char* kTwo =
    R"({"machine":{},"bandwidth":[{"level":"L1","bytes":4096,"bytes_s":1e11}],
  "cases":[{"name":"matmul/M:2/N:3/K:4","by":"tessera","threads":2,"best_s":1e-6,"flops":48},
           {"name":"matmul/M:2/N:3/K:4","by":"openblas","threads":2,"best_s":3e-6,"error":0.5}]})";

TEST(ResultsTest, FilesAreReadAndMerged) {
  const Results one = parse_results(kOne, "one.json");
  ASSERT_EQ(one.cases.size(), 1U);
  EXPECT_EQ(one.failures, std::vector<std::string>{"softmax/rows:1/cols:2: wrong result"});
  EXPECT_DOUBLE_EQ(one.cases[0].flops_s(), 24e6);
  EXPECT_EQ(one.cases[0].label, "x");
  const Results all = parse_results(merged({one, parse_results(kTwo, "two.json")}), "all.json");
  EXPECT_EQ(all.machine.text("cpu"), "X");
  ASSERT_EQ(all.cases.size(), 2U);
  EXPECT_EQ(all.failures.size(), 1U);
  EXPECT_DOUBLE_EQ(all.cases[0].best_s, 1e-6) << "the best of equal cases";
  EXPECT_EQ(all.cases[1].by, "openblas");
  EXPECT_EQ(group_of(all.cases[1].name), "matmul");
  EXPECT_EQ(all.cases[1].error, 0.5);
  EXPECT_EQ(all.bandwidth.at(0).level, "L1");
}

TEST(ResultsTest, WrongFilesNameThePlace) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {R"({"machine":{},"cases":[],"bandwidth":[{"level":"L1","bytes_s":0}]})",
       "bandwidth[0].bytes_s: must be a number above 0, got 0"},
      {R"({"cases":[]})", "machine"},
      {R"({"machine":{},"cases":[{"name":"a","threads":1,"best_s":0}]})",
       "bad.json: cases[0].best_s: must be a number above 0"}};
  for (const auto& [text, words] : faults) {
    test::expect_refused([&json = text] { parse_results(json, "bad.json"); }, words);
  }
}

TEST(UnitsTest, NumbersFit) {
  EXPECT_EQ(seconds_text(0.0000123), "12.3 us");
  EXPECT_EQ(seconds_text(1.5), "1.50 s");
  EXPECT_EQ(bytes_text(1234567), "1.23 MB");
  EXPECT_EQ(seconds_text(0.00099951), "1.00 ms");
  EXPECT_EQ(seconds_text(0.00099951, 4), "999.5 us");
  EXPECT_EQ(seconds_text(0.00099996, 4), "1.000 ms");
  EXPECT_EQ(seconds_text(0, 4), "0.000 ns");
  EXPECT_EQ(digits_text(9.994, 3), "9.99");
  EXPECT_EQ(digits_text(9.996, 3), "10.0");
  EXPECT_EQ(digits_text(-99.96, 3), "-100");
  EXPECT_EQ(digits_text(99.96, 4), "99.96");
  EXPECT_EQ(digits_text(12345, 4), "12345");
}

}  // namespace
}  // namespace tessera::results
