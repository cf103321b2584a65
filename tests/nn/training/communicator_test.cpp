// Communication between processes, which are threads of this program here.
#include "tessera/nn/training/communicator.h"

#include <cstdlib>
#include <map>
#include <optional>

#include "tessera/tensor/random.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(Communicator, EachGetsTheTextsForItByRank) {
  const auto text = [](index_t from, index_t to, int round) {
    return std::string(static_cast<std::size_t>(from + round), static_cast<char>('a' + to));
  };
  for (const index_t size : {1, 2, 3, 7}) {
    run_processes(size, [&](Communicator& processes) {
      for (int round = 0; round < 4; ++round) {
        std::vector<std::string> mine, want, everybody;
        for (index_t other = 0; other < size; ++other) {
          mine.push_back(text(processes.rank(), other, round));
          want.push_back(text(other, processes.rank(), round));
          everybody.push_back(text(other, 1, round));
        }
        EXPECT_EQ(processes.all_to_all(std::vector<std::string_view>(mine.begin(), mine.end())),
                  want);
        EXPECT_EQ(processes.all_gather(text(processes.rank(), 1, round)), everybody);
      }
    });
  }
}

TEST(Communicator, ProcessesHaveGeneratorsAndThreadsOfTheirOwn) {
  const std::uint64_t before = default_rng().state().position;
  const auto run = [&](Communicator& processes) {
    manual_seed(static_cast<std::uint64_t>(processes.rank()));
    processes.all_gather("");
    EXPECT_EQ(default_rng().state().seed, static_cast<std::uint64_t>(processes.rank()));
    EXPECT_EQ(thread_count(), 3);
  };
  run_processes(3, run, 3);
  EXPECT_EQ(default_rng().state().position, before);
}

TEST(Communicator, AProcessThatEndsEndsTheWaitsForIt) {
  int lost = 0;
  const auto run = [&](Communicator& processes) {
    if (processes.rank() == 1) throw std::out_of_range("a fault");
    EXPECT_THROW(processes.all_gather(""), std::runtime_error);
    if (processes.rank() == 0) ++lost;
  };
  EXPECT_THROW(run_processes(3, run), std::out_of_range);
  EXPECT_EQ(lost, 1);
}

TEST(Communicator, OneProcessIsTheTrivialCase) {
  OneProcess one;
  EXPECT_EQ(one.rank(), 0);
  EXPECT_EQ(one.size(), 1);
  EXPECT_EQ(one.all_gather("mine"), std::vector<std::string>{"mine"});
  fails("all_to_all", "parts must be 1, got 0", [&] { one.all_to_all({}); });
}

TEST(Communicator, TextsThatDifferAreRefusedByAll) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"5", "5", "5"}, ""},
      {{"5", "5", "6\n"},
       "seed must be the same on all ranks, got '5' on rank 0 and '6\\x0a' on rank 2"},
      {{"6", "5", "5"}, "seed must be the same on all ranks, got '6' on rank 0 and '5' on rank 1"}};
  for (const auto& [texts, error] : cases) {
    run_processes(3, [&texts = texts, &error = error](Communicator& processes) {
      const auto check = [&] {
        require_same(processes, "Op", "seed", texts[static_cast<std::size_t>(processes.rank())]);
      };
      if (error.empty()) {
        EXPECT_NO_THROW(check());
      } else {
        fails("Op", {error}, check);
      }
    });
  }
}

TEST(Communicator, SharesAreOfRanksThatExist) {
  fails("share_of", {"[0, 0)", "got 0"}, [] { share_of(10, 0, 0); });
  fails("share_of", {"[0, 2)", "got 2"}, [] { share_of(10, 2, 2); });
  fails("share_of", {"[0, 2)", "got -1"}, [] { share_of(10, -1, 2); });
}

TEST(Communicator, SharesAreOneAfterAnotherAndOfOneLength) {
  for (const index_t size : {1, 2, 3, 4, 7}) {
    const auto run = [&](Communicator& processes) {
      for (const index_t count : {index_t{0}, index_t{1}, index_t{5}, index_t{7}, index_t{100},
                                  std::numeric_limits<index_t>::max()}) {
        const Share mine = share_of(count, processes);
        EXPECT_GE(mine.end - mine.begin, count / size);
        EXPECT_LE(mine.end - mine.begin, count / size + (count % size > 0 ? 1 : 0));
        const std::vector<std::string> ends = processes.all_gather(std::to_string(mine.end));
        const auto before = static_cast<std::size_t>(processes.rank()) - 1;
        EXPECT_EQ(std::to_string(mine.begin), processes.rank() == 0 ? "0" : ends[before]);
        EXPECT_EQ(ends.back(), std::to_string(count));
        if (count < 1000) {
          EXPECT_EQ(mine.begin, count * processes.rank() / size);
        }
      }
    };
    run_processes(size, run);
  }
}

/// Sets the launchers' variables to only the given ones, and restores the old ones at the end.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS",
                             "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_NTASKS"}) {
      const char* const value = std::getenv(name);
      before_[name] = value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      unsetenv(name);
    }
    for (const auto& [name, value] : values) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : before_) {
      if (value) setenv(name.c_str(), value->c_str(), 1);
      if (!value) unsetenv(name.c_str());
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(LaunchTest, CountsTheProcessesThatALauncherStarted) {
  struct Case {
    std::map<std::string, std::string> variables;
    index_t processes;
  };
  const std::vector<Case> cases = {
      {{}, 1},
      {{{"OMPI_COMM_WORLD_SIZE", "4"}}, 4},
      {{{"PMI_SIZE", "3"}}, 3},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "7"}}, 8},
      // A batch script, and an interactive shell: Slurm's own steps.
      {{{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}, 1},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "4294967291"}, {"SLURM_PROCID", "0"}}, 1},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}}, 1},
      {{{"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_STEP_ID", "0"}}, 1},
      // mpirun has started its daemons by srun, one on each of two hosts.
      {{{"OMPI_COMM_WORLD_SIZE", "4"},
        {"SLURM_STEP_NUM_TASKS", "2"},
        {"SLURM_STEP_ID", "0"},
        {"SLURM_PROCID", "1"}},
       4},
      {{{"OMPI_COMM_WORLD_SIZE", "1"}, {"PMI_SIZE", "2"}}, 1},
      // No numbers of processes.
      {{{"PMI_SIZE", ""}}, 1},
      {{{"PMI_SIZE", "0"}}, 1},
      {{{"PMI_SIZE", "-3"}}, 1},
      {{{"PMI_SIZE", "3x"}}, 1},
      {{{"PMI_SIZE", "99999999999999999999"}}, 1},
      {{{"OMPI_COMM_WORLD_SIZE", "four"}}, 1},
  };
  for (const Case& c : cases) {
    const Variables variables(c.variables);
    std::string shown;
    for (const auto& [name, value] : c.variables) shown += name + "=" + value + " ";
    EXPECT_EQ(launched_processes(), c.processes) << shown;
  }
}

}  // namespace
}  // namespace tessera::nn
