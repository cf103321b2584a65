#include "nn/training/communicator.h"

#include <cstdlib>

#include "tests/support/test.h"

namespace tessera {
namespace {

/// The launchers' variables alone, as given; those from before come back at the end.
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
      // A batch script, and an interactive shell: steps of Slurm's own.
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
    EXPECT_EQ(nn::launched_processes(), c.processes) << shown;
  }
}

}  // namespace
}  // namespace tessera
