// The training programs with mpirun, as users start them on several processes. Skipped in a build
// without MPI.
#include <csignal>
#include <regex>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/dispatch.h"
#include "tests/programs/launched_run.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// The output without parts that differ between runs: speeds and times.
std::string timeless(const std::string& output) {
  static const std::regex times("[0-9]+ tokens/s  [0-9:]+");
  return std::regex_replace(output, times, "");
}

/// A log without its seventh column, the seconds.
std::string log_without_seconds(const std::string& log) {
  static const std::regex seconds("(^|\\n)((?:[^,\\n]*,){6})[^,\\n]*");
  return std::regex_replace(log, seconds, "$1$2");
}

std::string program_file(const std::string& program) {
  return " '" TESSERA_EXAMPLES_DIR "/" + program + "' ";
}
const std::string kTrainReverse = program_file("train_reverse");

/// Precedes a command, `-or-` and a second command: rank 0 runs the first, rank 1 the second.
/// (mpirun has a ':' for this, which crashes Open MPI 5.0.7.)
std::string by_rank() {
  return mpirun(2) +
         R"( bash -c 'for ((n = 0; n < $#; ++n)); do [ "${@:n+1:1}" = -or- ] && break; done
             if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ]; then exec "${@:1:n}"; fi
             exec "${@:n+2}"' by_rank )";
}

class ProcessPrograms : public TrainingPrograms {
 protected:
  void SetUp() override {
    if (!has_launcher()) GTEST_SKIP() << "this build has no MPI";
    TrainingPrograms::SetUp();
  }
  void TearDown() override {
    if (has_launcher()) TrainingPrograms::TearDown();
  }

  /// Whether the program ends with code 2, and reports the error once; mpirun adds its own lines.
  ::testing::AssertionResult all_fail(const std::string& program, const std::string& arguments,
                                      const std::string& words, const std::string& launcher) const {
    const Outcome outcome = run(program, arguments, launcher);
    std::istringstream lines(outcome.errors);
    int said = 0;
    bool is_right = true;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(program + ": ")) continue;
      ++said;
      is_right = is_right && line.find(words) != std::string::npos;
    }
    if (outcome.status == 2 && said == 1 && is_right) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "status " << outcome.status << ": " << outcome.errors;
  }
};

struct ProcessCase {
  std::string program, arguments;
  std::vector<int> processes;
};
const std::array<ProcessCase, 2> kCases = {
    {{"train_reverse", kReverse + "--shards 3 --dropout 0.2 ", {1, 2, 3}},
     {"train_masked_lm", kMaskedLm + "--shards 3 ", {2, 3}}}};

TEST_F(ProcessPrograms, LeaveWhatOneProcessLeaves) {
  for (const ProcessCase& c : kCases) {
    const std::string files = "--save run --log log.csv --report page.html";
    fs::remove_all(folder_ / "run");
    const std::string alone = output_of(c.program, c.arguments + files);
    const auto taken = [&](const char* name) { return file_text(folder_ / name); };
    const std::string weights = taken("run/checkpoint.safetensors");
    const std::string log = taken("log.csv");
    ASSERT_FALSE(weights.empty() || log.empty());
    for (const int processes : c.processes) {
      for (const char* name : {"run", "log.csv", "page.html"}) {
        fs::remove_all(folder_ / name);
      }
      const Outcome outcome = run(c.program, c.arguments + files, mpirun(processes));
      ASSERT_EQ(outcome.status, 0) << processes << ": " << outcome.errors;
      EXPECT_EQ(outcome.errors, "");
      EXPECT_EQ(timeless(outcome.output), timeless(alone)) << processes;
      EXPECT_EQ(taken("run/checkpoint.safetensors") == weights, true) << processes;
      EXPECT_EQ(log_without_seconds(taken("log.csv")), log_without_seconds(log)) << processes;
      EXPECT_TRUE(contains(taken("page.html"), str_cat("processes</th><td>", processes, "<")));
    }
  }
}

TEST_F(ProcessPrograms, GoOnAsAnotherNumberOfProcesses) {
  const ProcessCase& c = kCases[0];
  ASSERT_EQ(run(c.program, c.arguments + "--save whole").status, 0);
  ASSERT_EQ(run(c.program, c.arguments + "--save run --max-steps 7", mpirun(3)).status, 0);
  EXPECT_TRUE(
      all_fail(c.program, "--resume run", "started with these shards, use fewer", mpirun(4)));
  EXPECT_TRUE(all_fail(c.program, c.arguments + "--save run", "contains a saved run", mpirun(2)));
  output_of(c.program, "--resume run", mpirun(2));
  EXPECT_EQ(file_text(folder_ / "run" / "checkpoint.safetensors") ==
                file_text(folder_ / "whole" / "checkpoint.safetensors"),
            true);
}

// A signal to one of them stops all after the same step, and rank 0 saves. With --foreground
// timeout signals once; otherwise the program and then its group, which kills it. Eight seconds,
// because processes start slowly on a busy machine.
TEST_F(ProcessPrograms, StopTogether) {
  const std::string arguments = kReverse + "--shards 2 --epochs 1000000 --save run ";
  const Outcome outcome =
      run("train_reverse",
          arguments + " -or- timeout --foreground --preserve-status 8" + kTrainReverse + arguments,
          by_rank());
  EXPECT_EQ(outcome.status, 128 + SIGTERM) << outcome.errors;
  EXPECT_TRUE(contains(outcome.output, "stopped after step "));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "checkpoint.safetensors"));
}

TEST_F(ProcessPrograms, HelpAndErrorsAreSaidOnce) {
  const Outcome help = run("train_reverse", "--help", mpirun(2));
  EXPECT_EQ(help.status, 0) << help.errors;
  EXPECT_EQ(help.output, run("train_reverse", "--help").output);
  EXPECT_TRUE(all_fail("train_reverse", "--no-option", "--no-option", mpirun(3)));
  EXPECT_TRUE(all_fail("train_reverse", kReverse + "--shards 2", "take --shards 3", mpirun(3)));
  const Outcome unshared = run("inspect_checkpoint", "x", mpirun(2));
  EXPECT_EQ(unshared.status, 2);
  EXPECT_TRUE(contains(unshared.errors,
                       "inspect_checkpoint: must run in one process, got 2; start it without "));
}

TEST_F(ProcessPrograms, ThoseThatDisagreeAreRefused) {
  const std::string arguments = kReverse + "--shards 2 ";
  EXPECT_TRUE(all_fail(
      "train_reverse", arguments + "--seed 1 -or- " + kTrainReverse + arguments + "--seed 2",
      "option.seed must be the same on all ranks, got '1' on rank 0 and '2' on rank 1", by_rank()));
  fs::create_directory(folder_ / "other");
  write("other/text.txt", file_text(folder_ / "text.txt") + "It has another line.\n");
  EXPECT_TRUE(all_fail("train_masked_lm",
                       kMaskedLm + "--shards 2 -or- env --chdir=other" +
                           program_file("train_masked_lm") + kMaskedLm + "--shards 2",
                       "the examples", by_rank()));
#if defined(__x86_64__)
  if (available_isas().size() < 2) GTEST_SKIP() << "one instruction set";
  EXPECT_TRUE(all_fail("train_reverse",
                       arguments + " -or- env TESSERA_ISA=baseline" + kTrainReverse + arguments,
                       "Trainer: arithmetic must be the same on all ranks", by_rank()));
#endif
  // An error that only one process finds is reported by that process.
  EXPECT_TRUE(all_fail("train_reverse",
                       arguments + " -or- env TESSERA_ISA=mmx" + kTrainReverse + arguments,
                       "train_reverse: rank 1: TESSERA_ISA", by_rank()));
}

TEST_F(ProcessPrograms, InstructionSetsMayBeMixed) {
#if defined(__x86_64__)
  constexpr std::size_t kFewest = 3;  // the baseline gives different bits
#else
  constexpr std::size_t kFewest = 2;
#endif
  const std::vector<std::string> isas = available_isas();
  if (isas.size() < kFewest) GTEST_SKIP() << "there is no second one with the same bits";
  const std::string arguments = kReverse + "--shards 2 --save run ";
  ASSERT_EQ(run("train_reverse", kReverse + "--shards 2 --save want").status, 0);
  output_of(
      "train_reverse",
      arguments + " -or- env TESSERA_ISA=" + isas[isas.size() - 2] + kTrainReverse + arguments,
      by_rank());
  EXPECT_EQ(file_text(folder_ / "run" / "checkpoint.safetensors") ==
                file_text(folder_ / "want" / "checkpoint.safetensors"),
            true);
}

/// Programs that several processes do not share.
class SingleProcess : public Programs {};

TEST_F(SingleProcess, ProgramsAreRefusedAsSeveral) {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const std::string start = std::string("export ") + variable + "=";
    output_of("tokenize", "--help", start + "1; ");
    EXPECT_TRUE(fails("tokenize", "--help",
                      "tokenize: must run in one process, got 2; start it without mpirun",
                      start + "2; "));
    EXPECT_EQ(file_text(folder_ / "out.txt"), "");
  }
}

// Lessons and the experiment do not support several processes, and each would write the same files.
TEST_F(SingleProcess, LessonsAreRefusedAsSeveral) {
  for (const char* program : {"014_a_model_learns", "own_experiment"}) {
    const Outcome refused = run(program, "", "export OMPI_COMM_WORLD_SIZE=2; ");
    EXPECT_NE(refused.status, 0) << program;
    EXPECT_EQ(refused.output, "") << program;
    EXPECT_TRUE(contains(refused.errors, "start it without mpirun"));
  }
}

}  // namespace
}  // namespace tessera::test
