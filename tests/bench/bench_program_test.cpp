// tessera_bench, run as its users run it.
#include "tessera/tensor/io/json.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class BenchProgram : public Programs {
 protected:
  Outcome bench(const std::string& arguments) const {
    return run("tessera_bench", "--threads 2 --seconds 0.001 " + arguments);
  }
  std::string measured(const std::string& arguments) const {
    return output_of("tessera_bench", "--threads 2 --seconds 0.001 " + arguments);
  }
  void expect_refused(const std::vector<std::pair<std::string, std::string>>& cases) const {
    for (const auto& [arguments, words] : cases) {
      EXPECT_TRUE(fails("tessera_bench", "--seconds 0.001 " + arguments, words));
    }
  }
};

/// A small case of each kind, and of each parameter.
constexpr const char* kSmallCases = R"(# sizes of one's own
matmul/M:10/N:33/K:7
matmul/N:9/M:5/K:1/B:3/dtype:float64
matmul_nt/M:10/N:33/K:17/B:2     # the second operand transposed
  matmul_tn/M:1/N:33/K:17/dtype:float64

linear/M:3/K:17/N:9/gelu:1
linear/M:3/K:17/N:9/dtype:float64
linear_int8/M:3/K:17/N:70
gated/M:3/K:17/N:18/silu:1
gated/M:3/K:17/N:18/gelu:1/dtype:float64
attention/B:2/H:3/Tq:1/Tk:50/d:8
attention/H:2/T:21/d:5/causal:1
attention/H:2/T:21/d:5/window:3/causal:1/dtype:float64
attention/B:2/H:2/T:21/d:5/length:13
attention/H:2/T:21/d:5/mask:keep
attention/H:2/Tq:5/Tk:21/d:5/mask:additive
attention/B:2/H:3/T:64/d:8/dropout:0.3/causal:1
attention_unfused/T:12/d:8
attention_backward/B:2/H:2/T:17/d:8
attention_backward/H:2/T:17/d:8/window:4
softmax/rows:3/cols:70
softmax/rows:3/cols:70/dtype:float64
layer_norm/rows:3/cols:70
rms_norm/rows:3/cols:70/dtype:float64
encoder/L:1/D:16/H:2/F:32/B:2/T:5
modern/L:1/D:16/H:2/F:32/T:5
encoder_mixed/L:1/D:16/H:2/F:32/B:3/T:3,7
train/L:1/D:16/H:2/F:32/B:2/T:5
train/L:1/D:16/H:2/F:32/B:2/T:5/dropout:0.2
dropout/L:1/D:16/H:2/F:32/B:2/T:5
adamw/layers:1/d_model:16
clip_grad_norm/layers:1/d_model:16
cross_entropy/rows:5/classes:11
)";

TEST_F(BenchProgram, MakesACaseOfEveryKindThatIsRightAndKnowsItsCost) {
  write("cases.txt", kSmallCases);
  measured("--cases cases.txt --no-peaks --json out.json");
  const Json json = read_json(path("out.json"));
  std::set<std::string> kinds;
  for (const Json& one : json.at("cases").items()) {
    const std::string name = one.text("name");
    SCOPED_TRACE(name);
    kinds.insert(name.substr(0, name.find('/')));
    EXPECT_EQ(one.text("by"), "tessera");
    EXPECT_LE(one.number("error"), 1);
    EXPECT_GT(one.number("best_s"), 0);
    EXPECT_GE(one.number("median_s"), one.number("best_s"));
    EXPECT_GE(one.number("spread"), 0);
    EXPECT_GE(one.integer("calls"), 5);
    EXPECT_NEAR(one.number("intensity"), one.number("flops") / one.number("bytes"), 1e-9);
    EXPECT_EQ(one.text("dtype"), name.find("float64") == std::string::npos ? "float32" : "float64");
    EXPECT_GE(one.integer("memory_bytes"), 0);
    EXPECT_TRUE(one.has("noisy"));
    EXPECT_FALSE(one.has("peak_flops"));
  }
  EXPECT_EQ(json.at("cases").size(), 32);
  EXPECT_EQ(kinds.size(), 20U);
}

TEST_F(BenchProgram, CountsTheWorkThatMasksLeave) {
  measured(
      "attention/H:2/T:10/d:4 attention/H:2/T:10/d:4/causal:1 attention/H:2/T:10/d:4/window:1 "
      "attention/H:2/T:10/d:4/length:7 matmul/M:2/N:3/K:5/B:7 --no-peaks --json out.json");
  const std::vector<double> pairs = {100, 55, 28, 70};
  const Json cases = read_json(path("out.json")).at("cases");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(cases.item(static_cast<index_t>(i)).number("flops"), 4 * 2 * 4 * pairs[i]);
  }
  EXPECT_EQ(cases.item(0).number("bytes"), 4 * 2 * 10 * 4 * 4);
  EXPECT_EQ(cases.item(4).number("flops"), 2 * 2 * 3 * 5 * 7);
  EXPECT_EQ(cases.item(4).number("bytes"), 4 * 7 * (10 + 15 + 6));
}

TEST_F(BenchProgram, SeesTheMemoryThatACallTakes) {
  measured("attention/T:1024/d:8 attention_unfused/T:1024/d:8 --no-peaks --json out.json");
  const Json cases = read_json(path("out.json")).at("cases");
  constexpr index_t kScores = 4 * 1024 * 1024;
  EXPECT_LT(cases.item(0).integer("memory_bytes"), kScores / 4);
  EXPECT_GE(cases.item(1).integer("memory_bytes"), kScores);
  EXPECT_LT(cases.item(1).integer("memory_bytes"), 4 * kScores);
}

TEST_F(BenchProgram, SlowsACaseDownOnPurpose) {
  const auto best = [&](const std::string& slow) {
    const Outcome outcome = bench("softmax/rows:64/cols:128 --no-peaks --json out.json" + slow);
    EXPECT_EQ(outcome.status, 0) << outcome.errors;
    const Json json = read_json(path("out.json"));
    EXPECT_EQ(json.at("bandwidth").size(), 0) << "--no-peaks";
    return json.at("cases").item(0).number("best_s");
  };
  const double slow = best(" --slow 9");
  double fast = best("");  // other programs may disturb a run
  for (int again = 0; again < 5 && slow <= 5 * fast; ++again) fast = std::min(fast, best(""));
  EXPECT_GT(slow, 5 * fast);
}

TEST_F(BenchProgram, MeasuresThePeaksBesideACaseAndTheMachine) {
  measured("--filter '^matmul/M:64/N:64/K:64$' --json out.json");
  const Json json = read_json(path("out.json"));
  ASSERT_EQ(json.at("cases").size(), 1);
  const Json one = json.at("cases").item(0);
  EXPECT_EQ(one.text("name"), "matmul/M:64/N:64/K:64");
  EXPECT_GT(one.number("peak_flops"), 1e8);
  EXPECT_GT(one.number("peak_bytes_s"), 1e7);
  const Json machine = json.at("machine");
  for (const char* key : {"cpu", "isa", "compiler", "flags", "commit", "version", "affinity",
                          "governor", "os", "date"}) {
    EXPECT_FALSE(machine.text(key).empty()) << key;
  }
  for (const char* key : {"sockets", "cores", "threads"}) EXPECT_GT(machine.integer(key), 0);
  EXPECT_GE(machine.number("load"), 0);
  EXPECT_TRUE(machine.at("caches").is_list());
  std::vector<std::string> levels;
  for (const Json& level : json.at("bandwidth").items()) {
    levels.push_back(level.text("level"));
    EXPECT_GT(level.number("bytes_s"), 1e7);
    EXPECT_GT(level.integer("bytes"), 0);
  }
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.back(), "memory");
}

TEST_F(BenchProgram, SpeaksGoogleBenchmarksFlagsWithoutItsSuffixes) {
  const std::string output = measured(
      "--no-peaks --benchmark_filter='^(softmax/rows:1536/cols:128)(/.*)?$' "
      "--benchmark_format=json --benchmark_min_time=0.001");
  const Json rows = parse_json(output, "output").at("benchmarks");
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows.item(0).text("name"), "softmax/rows:1536/cols:128");
  EXPECT_EQ(rows.item(0).text("run_type"), "iteration");
  EXPECT_GT(rows.item(0).number("real_time"), 0);
}

/// Scores of 10^14 numbers: more than any address space.
TEST_F(BenchProgram, KeepsTheOtherCasesWhereOneFails) {
  const Outcome outcome = bench(
      "matmul/M:8/N:8/K:8 attention_unfused/T:10000000/d:1 softmax/rows:3/cols:7 "
      "matmul/M:8/N:8/K:8 --no-peaks --json out.json");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(contains(outcome.errors, "all cases must succeed, got 1 failed"));
  const Json cases = read_json(path("out.json")).at("cases");
  ASSERT_EQ(cases.size(), 3) << "a name twice is one case";
  EXPECT_GT(cases.item(0).number("best_s"), 0);
  EXPECT_FALSE(cases.item(1).text("failure").empty());
  EXPECT_FALSE(cases.item(1).has("best_s"));
  EXPECT_EQ(cases.item(2).text("name"), "softmax/rows:3/cols:7");
}

TEST_F(BenchProgram, ListsNamesThatItTakes) {
  const Outcome outcome = bench("--list --filter '^softmax/'");
  EXPECT_TRUE(contains(outcome.output, "# matmul/M:/N:/K:[/B:][/dtype:float64]\n"));
  EXPECT_TRUE(outcome.output.ends_with(
      "\nsoftmax/rows:1536/cols:128\nsoftmax/rows:49152/cols:128\nsoftmax/rows:49152/cols:512\n"))
      << outcome.output;
  const Outcome help = bench("--help");
  for (const char* word : {"OMP_NUM_THREADS", "TESSERA_ISA", "of peak", "--cases", "Examples:"}) {
    EXPECT_TRUE(contains(help.output, word)) << word;
  }
}

TEST_F(BenchProgram, WhatItRefuses) {
  write("cases.txt", "# two\nmatmul/M:1/N:1/K:1\nmatmul/M:x/N:1/K:1\n");
  write("empty.txt", "# nothing\n");
  const std::string one = "matmul/M:1/N:1/K:1 ";
  expect_refused({
      {"--filter '^matmul/M:65/N:64/K:64$'",
       "must match a benchmark, got '^matmul/M:65/N:64/K:64$'; see --list"},
      {"--benchmark_filter=nothing", "must match a benchmark, got 'nothing'"},
      {"--filter 'mat('", "--filter: must be a regular expression, got 'mat('"},
      {"matmull/M:1/N:1/K:1", "'matmull/M:1/N:1/K:1'; see --list"},
      {"matmul_ladder/step:99", "'matmul_ladder/step:99'"},
      {"matmul/M:1/N:1", "'matmul/M:1/N:1': K is missing"},
      {"matmul/M:1/N:1/K:0", "K must be an integer from 1 to 2147483648, got '0'"},
      {"matmul/M:1/N:1/K:1x", "got '1x'"},
      {"matmul/M:-1/N:1/K:1", "got '-1'"},
      {"matmul/M:1/N:1/K:1/K:2", "K must be given only once"},
      {"matmul/M:1/N:1/K:1/k:2", "keys of matmul must be B, M, N, K, dtype, got 'k'"},
      {"matmul/M:1/N", "parts after / must be key:value, got 'N'"},
      {"matmul/M:1/N:1/K:1/dtype:half", "dtype must be one of float32, float64"},
      {"gated/M:1/K:1/N:2", "either gelu or silu must be 1, got neither"},
      {"encoder/L:1/D:10/H:3/F:8/T:2", "H must divide D = 10, got 3"},
      {"attention/T:4/d:4/dropout:1", "must be at least 0 and below 1, got '1'"},
      {"matmul/M:2147483648/N:2147483648/K:2147483648", "of this machine, got 5.53402e+10 GB"},
      {"modern/L:2147483648/D:2147483648/H:1/F:2147483648/B:2147483648/T:2147483648",
       "memory must be at most "},
      {"attention/B:2147483648/H:2147483648/T:9/d:2147483648", "memory must be at most "},
      {"--cases cases.txt", "cases.txt: line 3: 'matmul/M:x/N:1/K:1': M must be"},
      {"--cases empty.txt", "empty.txt: must name at least 1 benchmark, got 0"},
      {"--cases absent.txt", "absent.txt: "},
      {one + "--cblas '" TESSERA_WIDE_CBLAS "'",
       "must be a CBLAS library with 32-bit sizes, got 64-bit sizes"},
      {one + "--json absent/out.json",
       "absent/out.json: cannot create a file in its folder: No such file"},
  });
  for (const std::string time : {"x", "-1", "inf", "1e9", "5x"}) {
    expect_refused({{one + "--benchmark_min_time=" + time,
                     "must be from 0.001 to 600 seconds, got '" + time + "'"}});
  }
}

}  // namespace
}  // namespace tessera::test
