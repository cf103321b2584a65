// The programs, run as their users run them: exit codes, files, errors.
#include <filesystem>

#include "bench/results/results.h"
#include "tests/programs/help_form.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class BenchPrograms : public Programs {
 protected:
  std::string results(const std::string& name, const std::string& best) const {
    return write(name, R"({"machine":{"cpu":"X"},"cases":[{"name":"matmul/M:8/N:8/K:8","threads":1,
      "flops":1024,"bytes":768,"peak_flops":1e11,"best_s":)" +
                           best + "}]}")
        .string();
  }
};

TEST_F(BenchPrograms, HelpIsNounPhrasesWithDefaultsAndUnits) {
  for (const char* program : {"tessera_bench", "tessera_bench_compare", "tessera_bench_report"}) {
    const std::string help = output_of(program, "--help");
    EXPECT_GE(help_entries(help).size(), 5U) << help;
    EXPECT_EQ(help_faults(help), std::vector<std::string>()) << program;
    EXPECT_TRUE(output_of(program, "--version").starts_with(std::string(program) + " (Tessera) "));
  }
}

TEST_F(BenchPrograms, CompareSaysWhatIsWrong) {
  expect_fails("tessera_bench_compare",
               {{"true --filter x", "SIDES must be 2 commands, got 1"},
                {"true true", "--cases or --filter must be given"},
                {"false false --filter x", "false: exit code must be 0, got 1"}});
}

/// A replacement for tessera_bench: its times come from a script. The new one is slower.
TEST_F(BenchPrograms, CompareRunsTwoCommandsInTurn) {
  const auto script = [&](const std::string& name, const std::string& best) {
    const std::string file = results(name + ".json", best);
    const fs::path program =
        write(name, "#!/bin/sh\necho " + name +
                        " >> order.txt\nwhile [ $# -gt 1 ]; do [ \"$1\" = --json ] && cp " + file +
                        " \"$2\"; shift; done\n");
    fs::permissions(program, fs::perms::owner_all);
    return program.string();
  };
  const std::string before = script("old", "1.00e-6");
  const std::string after = script("new", "1.03e-6");
  const std::string options = " --filter . --rounds 9";
  const Outcome slower = run("tessera_bench_compare", before + " " + after + options);
  EXPECT_EQ(slower.status, 1) << slower.errors;
  EXPECT_TRUE(contains(slower.output, "1 slower"));
  EXPECT_TRUE(file_text(folder_ / "order.txt").starts_with("old\nnew\nnew\nold\nold\nnew\n"));
  EXPECT_EQ(run("tessera_bench_compare", before + " " + before + options).status, 0);
  EXPECT_EQ(run("tessera_bench_compare", after + " " + before + options).status, 0);
  EXPECT_TRUE(fails("tessera_bench_compare", before + " " + after + " --filter . --rounds 5",
                    "--rounds must be at least 9 for 1 case, got 5"));
}

/// A real, short run, up to the tables.
TEST_F(BenchPrograms, AReportIsMadeOfARun) {
  output_of("tessera_bench",
            "--threads 1 --seconds 0.001 --json run.json 'matmul/M:16/N:16/K:16' "
            "'softmax/rows:4/cols:8'");
  write("README.md", "<!-- table: machine -->\n<!-- end of table -->\n");
  output_of("tessera_bench_report",
            "run.json --json r.json --roofline-svg r.svg --readme README.md");
  EXPECT_TRUE(contains(file_text(folder_ / "r.json"), "softmax/rows:4/cols:8"));
  EXPECT_TRUE(contains(file_text(folder_ / "README.md"), "| cpu |"));
  EXPECT_TRUE(fails("tessera_bench_report", "README.md --roofline-svg x.svg", "README.md"));
  EXPECT_FALSE(fs::exists(folder_ / "x.svg"));
}

/// Scripts that run other libraries: their files are read like ours. Skipped if none is installed.
TEST_F(BenchPrograms, OtherLibrariesWriteWhatReportsRead) {
  write("ours.json", R"({"machine":{"threads":1},"cases":[
    {"name":"softmax/rows:4/cols:9","by":"tessera","threads":1,"best_s":1e-6,"flops":180},
    {"name":"encoder/L:2/D:16/H:2/F:32/B:2/T:8","by":"tessera","threads":1,"best_s":1e-3},
    {"name":"attention/H:2/T:8/d:4/causal:1","by":"tessera","threads":1,"best_s":1e-3}]})");
  int found = 0;
  for (const std::string script : {"node '" TESSERA_SOURCE_DIR "/bench/peers/ort.js'",
                                   "python3 '" TESSERA_SOURCE_DIR "/bench/peers/torch_cases.py'"}) {
    SCOPED_TRACE(script);
    const auto status = [&](const std::string& arguments) {
      const std::string command =
          "cd '" + folder_.string() + "' && " + script + " " + arguments + " >/dev/null 2>err.txt";
      return WEXITSTATUS(std::system(command.c_str()));
    };
    fs::remove(folder_ / "theirs.json");
    const int ended = status("--like ours.json --seconds 0.001 --json theirs.json");
    if (!fs::exists(folder_ / "theirs.json")) continue;
    ++found;
    EXPECT_EQ(ended, 0) << file_text(folder_ / "err.txt");
    const results::Results theirs = results::read_results(folder_ / "theirs.json");
    ASSERT_EQ(theirs.cases.size(), 2U) << "masked attention is left out";
    EXPECT_NE(theirs.cases[0].by, "tessera");
    EXPECT_EQ(theirs.cases[0].name, "softmax/rows:4/cols:9");
    EXPECT_EQ(theirs.cases[0].flops, 180) << "the cost is ours";
    EXPECT_EQ(theirs.cases[0].threads, 1);
    EXPECT_LE(theirs.cases[1].best_s, theirs.cases[1].median_s);
    EXPECT_EQ(status("matmul/M:8/N:8/K:8"), 2);
    EXPECT_TRUE(contains(file_text(folder_ / "err.txt"), "got 'matmul/M:8/N:8/K:8'"));
  }
  if (found == 0) GTEST_SKIP() << "neither onnxruntime-node nor torch is there";
}

}  // namespace
}  // namespace tessera::test
