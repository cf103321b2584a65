// Training programs whose processes are killed at any moment: all end, a checkpoint remains, and a
// different number of processes continues from it with the bits of an uninterrupted run.
//
//   TESSERA_FAULTS=100 programs_test --gtest_filter='Faults.*'                       # a hundred
//   TESSERA_FAULTS=1 TESSERA_FAULTS_SEED=17 programs_test --gtest_filter='Faults.*'  # repeats one
#include <chrono>
#include <iostream>
#include <random>
#include <thread>

#include "nn/training/checkpoint.h"
#include "tests/programs/launched_run.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 30;     // the limit for all processes to end
constexpr double kLauncherSeconds = 5;  // then a launcher without processes is stuck

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The fault of one run.
struct Fault {
  enum class When { kStart, kStep, kSave };

  int seed = 0;
  bool masked = false;     // train_masked_lm; else train_reverse
  int processes = 1;       // of the run that is killed
  int rank = 0;            // of the process that is killed
  int processes_then = 1;  // of the run that continues
  When when = When::kStart;
  int step = 0;  // the step after which it happens; when saving: in the first save after it
  microseconds delay = {};

  std::string text() const {
    const std::string moment = when == When::kStart  ? "at the start"
                               : when == When::kStep ? "after step " + std::to_string(step)
                                                     : "saving after step " + std::to_string(step);
    return "seed " + std::to_string(seed) + ": rank " + std::to_string(rank) + " of " +
           std::to_string(processes) + " of " + program() + " killed " + moment + " and " +
           std::to_string(delay.count()) + " us, goes on with " + std::to_string(processes_then);
  }
  std::string program() const { return masked ? "train_masked_lm" : "train_reverse"; }
};

constexpr int kSteps = 30;  // the second program has some fewer
const std::string kSmall =
    "--shards 4 --dropout 0.1 --layers 1 --width 8 --heads 2 --feed-forward 16 ";

/// The options that a resumed run takes from its checkpoint, after those that must be repeated.
std::string files_of(bool masked) {
  return masked ? "--text text.txt " : "";
}
std::string arguments_of(bool masked) {
  return files_of(masked) +
         (masked ? "--length 20 --batch-size 10 --epochs 3 "
                 : "--words 40 --length 5 --batch-size 4 --epochs 3 ") +
         kSmall;
}

Fault random_fault(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  Fault fault;
  fault.seed = seed;
  fault.masked = below(2) == 1;
  fault.processes = has_launcher() ? 2 + below(3) : 1;
  fault.rank = below(fault.processes);
  if (has_launcher()) fault.processes_then = 1 + (fault.processes + below(3)) % 4;
  const int kind = below(10);
  fault.when = kind == 0 ? Fault::When::kStart : kind < 6 ? Fault::When::kStep : Fault::When::kSave;
  fault.step = below(kSteps * 9 / 10);
  fault.delay = microseconds(fault.when == Fault::When::kStart  ? below(300'000)
                             : fault.when == Fault::When::kStep ? below(5000)
                                                                : below(400));
  return fault;
}

/// The outcomes of many faults.
struct Counts {
  int killed = 0;
  int too_late = 0;       // the run had ended
  int no_checkpoint = 0;  // killed before the first
  int left_files = 0;     // killed while one was being written
  int stuck_launchers = 0;
  double most_seconds = 0;
};

/// Waits until `condition` holds or the run has ended.
template <class Condition>
void await(LaunchedRun& run, const Condition& condition) {
  while (!condition() && !run.status()) std::this_thread::sleep_for(microseconds(20));
}

class Faults : public TrainingPrograms {
 protected:
  /// The end of the run that was killed.
  struct Ending {
    bool killed = false;  // false: it had already ended
    int status = 0;
    double seconds = 0;    // from the kill to the end of the last process
    std::size_t left = 0;  // processes that had not ended in time
    bool is_launcher_stuck = false;
    std::string errors;
  };

  bool is_being_saved() const {
    std::error_code none;
    for (fs::directory_iterator entry(folder_ / "run", none), end; !none && entry != end;
         entry.increment(none)) {
      if (entry->path().filename().string().starts_with(".tessera-")) return true;
    }
    return false;
  }

  /// Waits for the moment, or the run's end.
  void await_moment(const Fault& fault, LaunchedRun& run) const {
    if (fault.when != Fault::When::kStart) {
      await(run, [&] {
        const std::string log = file_text(folder_ / "log.csv");
        return std::count(log.begin(), log.end(), '\n') > fault.step;
      });
    }
    if (fault.when == Fault::When::kSave) await(run, [&] { return is_being_saved(); });
    std::this_thread::sleep_for(fault.delay);
  }

  Ending kill_one(const Fault& fault) const {
    LaunchedRun run(folder_, launcher(fault.processes) + " '" TESSERA_EXAMPLES_DIR "/" +
                                 fault.program() + "' " + arguments_of(fault.masked) +
                                 "--save run --log log.csv");
    Ending ending;
    std::optional<pid_t> victim;
    const auto is_there = [&] {
      if (!victim) victim = fault.processes == 1 ? run.command() : run.process_of(fault.rank);
      return victim.has_value();
    };
    await(run, is_there);
    await_moment(fault, run);
    ending.killed = victim && !run.status() && ::kill(*victim, SIGKILL) == 0;
    wait_for_end(fault, run, ending);
    ending.left = run.processes().size();
    ending.status = run.status().value_or(0);
    ending.errors = errors_in(folder_ / "err.txt");
    return ending;
  }

  /// Waits until all processes have ended, up to the limit.
  ///
  /// Open MPI's mpirun (4.1 with PMIx 4.2) can hang in PMIx_server_finalize if a process dies
  /// within MPI_Init. The processes that it has started have ended by then.
  static void wait_for_end(const Fault& fault, LaunchedRun& run, Ending& ending) {
    const Clock::time_point begin = Clock::now();
    const std::vector<pid_t> launcher_alone = {run.command()};
    for (std::vector<pid_t> left = run.processes(); !left.empty() || !run.status();
         left = run.processes()) {
      ending.seconds = seconds_since(begin);
      if (ending.seconds > kMostSeconds) return;
      if (fault.when == Fault::When::kStart && ending.seconds > kLauncherSeconds &&
          left == launcher_alone) {
        ending.is_launcher_stuck = true;
        ::kill(run.command(), SIGKILL);
      }
      std::this_thread::sleep_for(microseconds(1000));
    }
  }

  /// The contents of the folder of checkpoints after a kill.
  void check_what_remains(Counts& counts) const {
    const fs::path file = folder_ / "run" / "checkpoint.safetensors";
    counts.left_files += is_being_saved();
    if (!fs::exists(file)) {
      ++counts.no_checkpoint;
      return;
    }
    EXPECT_NO_THROW(nn::load_checkpoint(file));
    output_of("inspect_checkpoint", "run/checkpoint.safetensors");
  }

  /// Continues from the checkpoint, or begins again if there is none.
  void check_that_it_goes_on(const Fault& fault, const std::string& want) const {
    const bool resumes = fs::exists(folder_ / "run" / "checkpoint.safetensors");
    const std::string arguments = resumes ? files_of(fault.masked) + "--resume run"
                                          : arguments_of(fault.masked) + "--save run";
    output_of(fault.program(), arguments, "timeout 120 " + launcher(fault.processes_then));
    EXPECT_TRUE(file_text(folder_ / "run" / "checkpoint.safetensors") == want)
        << "other bits than those of an unbroken run";
    EXPECT_FALSE(is_being_saved()) << "a file of the killed run is still there";
  }

  void check(const Fault& fault, const std::string& want, Counts& counts) {
    fs::remove_all(folder_ / "run");
    fs::remove(folder_ / "log.csv");
    const Ending ending = kill_one(fault);
    EXPECT_EQ(ending.left, 0U) << "processes live after " << kMostSeconds << " s";
    const std::string last = file_text(folder_ / "run" / "checkpoint.safetensors");
    if (!ending.killed || (ending.status == 0 && last == want)) {
      ++counts.too_late;
      return;
    }
    ++counts.killed;
    counts.stuck_launchers += ending.is_launcher_stuck;
    if (!ending.is_launcher_stuck) {
      counts.most_seconds = std::max(counts.most_seconds, ending.seconds);
    }
    EXPECT_NE(ending.status, 0) << ending.errors;
    if (fault.processes > 1) {  // the launcher remains to report it
      EXPECT_TRUE(contains(ending.errors, "rank " + std::to_string(fault.rank)));
    }
    check_what_remains(counts);
    check_that_it_goes_on(fault, want);
  }
};

int number_in_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

int failure_count() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

TEST_F(Faults, AKilledProcessEndsAllAndNothingIsLost) {
  const int count = number_in_environment("TESSERA_FAULTS", 3);
  const int first = number_in_environment("TESSERA_FAULTS_SEED", 4);
  std::map<bool, std::string> want;
  for (const bool masked : {false, true}) {
    const Outcome whole = run(masked ? "train_masked_lm" : "train_reverse",
                              arguments_of(masked) + "--save whole --overwrite");
    ASSERT_EQ(whole.status, 0) << whole.errors;
    want[masked] = file_text(folder_ / "whole" / "checkpoint.safetensors");
    ASSERT_FALSE(want[masked].empty());
  }
  Counts counts;
  for (int seed = first; seed < first + count; ++seed) {
    const Fault fault = random_fault(seed);
    SCOPED_TRACE(fault.text());
    const int failures = failure_count();
    check(fault, want[fault.masked], counts);
    if (count > 3) {
      std::cout << fault.text() << (failure_count() > failures ? ": FAILED" : "") << std::endl;
    }
  }
  std::cout << counts.killed << " killed, " << counts.too_late << " too late; ended within "
            << counts.most_seconds << " s but for " << counts.stuck_launchers << " launchers; "
            << counts.no_checkpoint << " before the first save, " << counts.left_files
            << " within a save\n";
  EXPECT_GE(2 * counts.killed, count) << "most came too late to see anything";
}

}  // namespace
}  // namespace tessera::test
