// Training programs of which one process is killed: all processes end, the command reports an
// error, the last checkpoint is whole, and a different number of processes continues from it with
// the bits of an unbroken run.
#include <chrono>
#include <thread>

#include "tessera/tensor/error.h"
#include "tests/programs/launched_run.h"
#include "tests/programs/training_programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

const std::string kSmall =
    "--shards 4 --dropout 0.1 --layers 1 --width 8 --heads 2 --feed-forward 16 ";

/// A run of 27 steps or more; `files` must be repeated if it is resumed.
struct TrainingRun {
  std::string program, files, options;
};
const TrainingRun kReverseRun = {"train_reverse", "",
                                 "--words 40 --length 5 --batch-size 4 --epochs 3 " + kSmall};
const TrainingRun kMaskedRun = {"train_masked_lm", "--text text.txt ",
                                "--length 20 --batch-size 10 --epochs 3 " + kSmall};

enum class Moment { kStart, kStep, kSave };

/// Without a launcher, the only process is killed.
struct Fault {
  const TrainingRun& run;
  int processes, rank;  // the rank that is killed
  Moment moment;
  int step;            // after which it is killed; when saving, in the next save
  int processes_then;  // of the run that continues
};

class Faults : public TrainingPrograms {
 protected:
  bool is_being_saved() const {
    std::error_code none;
    for (fs::directory_iterator entry(folder_ / "run", none), end; !none && entry != end;
         entry.increment(none)) {
      if (entry->path().filename().string().starts_with(".tessera-")) return true;
    }
    return false;
  }

  bool is_moment(const Fault& fault) const {
    const std::string log = file_text(folder_ / "log.csv");
    return fault.moment == Moment::kStart ||
           (std::count(log.begin(), log.end(), '\n') > fault.step &&
            (fault.moment == Moment::kStep || is_being_saved()));
  }

  /// Kills a process, and returns the status of the command after all have ended; absent if the run
  /// has ended before.
  std::optional<int> kill_one(const Fault& fault, int processes) const {
    LaunchedRun run(folder_, launcher(processes) + " '" TESSERA_EXAMPLES_DIR "/" +
                                 fault.run.program + "' " + fault.run.files + fault.run.options +
                                 "--save run --log log.csv");
    std::optional<pid_t> victim;
    while (!run.status() && !(victim && is_moment(fault))) {
      if (!victim) victim = processes == 1 ? run.command() : run.process_of(fault.rank);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    if (run.status() || ::kill(*victim, SIGKILL) != 0) return std::nullopt;
    // Open MPI's mpirun (4.1 with PMIx 4.2) can hang in PMIx_server_finalize if a process dies
    // within MPI_Init. The processes that it has started have ended by then.
    const Clock::time_point begin = Clock::now();
    const std::vector<pid_t> launcher_alone = {run.command()};
    for (auto left = run.processes(); !left.empty() || !run.status(); left = run.processes()) {
      const auto waited = Clock::now() - begin;
      if (waited > std::chrono::seconds(5) && left == launcher_alone &&
          fault.moment == Moment::kStart) {
        ::kill(run.command(), SIGKILL);
      }
      EXPECT_LT(waited, std::chrono::seconds(30)) << left.size() << " processes still run";
      if (waited > std::chrono::seconds(30)) break;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return run.status().value_or(0);
  }

  /// Continues from the checkpoint, or begins again if there is none.
  void expect_to_go_on(const TrainingRun& run, int processes, const std::string& want) const {
    const fs::path file = folder_ / "run" / "checkpoint.safetensors";
    const std::string rest = fs::exists(file) ? "--resume run" : run.options + "--save run";
    output_of(run.program, run.files + rest, "timeout 120 " + launcher(processes));
    EXPECT_TRUE(file_text(file) == want) << "other bits than those of an unbroken run";
    EXPECT_FALSE(is_being_saved()) << "a file of the killed run is still there";
  }
};

TEST_F(Faults, AKilledProcessEndsAllAndNothingIsLost) {
  std::map<std::string, std::string> want;
  for (const TrainingRun* run : {&kReverseRun, &kMaskedRun}) {
    output_of(run->program, run->files + run->options + "--save whole --overwrite");
    want[run->program] = file_text(folder_ / "whole" / "checkpoint.safetensors");
  }
  int killed = 0;
  for (const Fault& fault : {Fault{kReverseRun, 2, 1, Moment::kStart, 0, 3},
                             Fault{kReverseRun, 4, 0, Moment::kSave, 8, 2},
                             Fault{kMaskedRun, 3, 2, Moment::kStep, 13, 1},
                             Fault{kMaskedRun, 2, 0, Moment::kStep, 5, 4}}) {
    SCOPED_TRACE(str_cat(fault.run.program, ": rank ", fault.rank, " of ", fault.processes));
    fs::remove_all(folder_ / "run");
    fs::remove(folder_ / "log.csv");
    const int processes = has_launcher() ? fault.processes : 1;
    const std::optional<int> status = kill_one(fault, processes);
    if (!status) continue;
    ++killed;
    EXPECT_NE(*status, 0) << "the command reports success";
    const std::string errors = errors_in(folder_ / "err.txt");
    // The launcher remains to report it. Open MPI may not name a process that dies at its start.
    if (processes > 1 && fault.moment != Moment::kStart) {
      EXPECT_TRUE(contains(errors, str_cat("rank ", fault.rank)));
    }
    expect_to_go_on(fault.run, has_launcher() ? fault.processes_then : 1,
                    want.at(fault.run.program));
  }
  EXPECT_GE(killed, 3) << "most kills came too late";
}

}  // namespace
}  // namespace tessera::test
