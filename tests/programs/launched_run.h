// A program that runs as one or several processes, which a test can find and kill.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/programs/programs.h"

namespace tessera::test {

/// Whether programs can run as several processes.
constexpr bool has_launcher() {
#if defined(TESSERA_MPIRUN)
  return true;
#else
  return false;
#endif
}

/// The launcher for `processes` processes, in a separate folder: Open MPI 5 fails if two runs make
/// their folders in the same place at the same time.
inline std::string mpirun(int processes) {
#if defined(TESSERA_MPIRUN)
  return "env TMPDIR=\"$PWD\" " TESSERA_MPIRUN + std::to_string(processes);
#else
  return "false " + std::to_string(processes);
#endif
}

/// The same; empty for one process.
inline std::string launcher(int processes) {
  return processes == 1 ? "" : mpirun(processes);
}

/// A running command, with all processes that it starts.
///
/// They are recognised by an environment variable, which they inherit, even if their parent has
/// ended. The command leads its own session, so that signals of the terminal do not reach it.
class LaunchedRun {
 public:
  /// Runs `command` in a shell that it replaces, in `folder`; output goes to files there.
  LaunchedRun(const fs::path& folder, const std::string& command)
      : mark_("TESSERA_TEST_RUN=" + folder.string()) {
    const std::string line =
        "cd '" + folder.string() + "' && exec " + command + " >out.txt 2>err.txt </dev/null";
    command_ = ::fork();
    if (command_ != 0) return;
    ::setsid();
    ::putenv(mark_.data());
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  /// Ends the remaining processes.
  ~LaunchedRun() {
    for (const pid_t process : processes()) ::kill(process, SIGKILL);
    if (!status_) ::waitpid(command_, nullptr, 0);
  }
  LaunchedRun(const LaunchedRun&) = delete;
  LaunchedRun& operator=(const LaunchedRun&) = delete;

  /// The command itself: the launcher, or a single program.
  pid_t command() const { return command_; }

  /// The command's status as waitpid gives it, once it has ended.
  std::optional<int> status() {
    int status = 0;
    if (!status_ && ::waitpid(command_, &status, WNOHANG) == command_) status_ = status;
    return status_;
  }

  /// All living processes, including the launcher's.
  std::vector<pid_t> processes() const {
    std::vector<pid_t> found;
    std::error_code gone;
    for (fs::directory_iterator entry("/proc", gone), end; !gone && entry != end;
         entry.increment(gone)) {
      const pid_t process = std::atoi(entry->path().filename().c_str());
      if (process > 0 && has_variable(process, mark_)) found.push_back(process);
    }
    return found;
  }

  /// The process with this rank, once a launcher has started it.
  std::optional<pid_t> process_of(int rank) const {
    for (const pid_t process : processes()) {
      for (const char* name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="}) {
        if (has_variable(process, name + std::to_string(rank))) return process;
      }
    }
    return std::nullopt;
  }

 private:
  /// Whether "NAME=value" is in the environment of a process; false for a dead one.
  static bool has_variable(pid_t process, const std::string& variable) {
    std::istringstream all(file_text("/proc/" + std::to_string(process) + "/environ"));
    for (std::string one; std::getline(all, one, '\0');) {
      if (one == variable) return true;
    }
    return false;
  }

  std::string mark_;
  pid_t command_ = -1;
  std::optional<int> status_;
};

}  // namespace tessera::test
