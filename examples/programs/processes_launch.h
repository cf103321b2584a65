// Joins the processes that were started with a program: with MPI (processes_mpi.cpp), or, in a
// build without MPI, not at all (processes_alone.cpp). Used by the frame of a command line;
// programs include processes.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/training/communicator.h"

namespace tessera::examples {

/// The processes started by a launcher.
struct Launch {
  std::shared_ptr<void> session;  // ends the session when it is destroyed
  nn::Communicator* processes;
  int threads;  // this process's share of its host's cores; 0: the library's default
  std::function<void(int code)> end_all;  // all processes, at once
};

/// Joins the other processes. **Errors**: there are others, and this program has no MPI.
Launch join_launch();

/// While in scope, which is during the whole program, processes() are those of the launcher, and
/// standard output is discarded except at rank 0. **Errors**: as join_launch.
class ProcessesScope {
 public:
  ProcessesScope();
  ~ProcessesScope();
  ProcessesScope(const ProcessesScope&) = delete;
  ProcessesScope& operator=(const ProcessesScope&) = delete;

 private:
  Launch launch_;
};

/// Throws if the processes are not one program of one version on one kind of instruction set, or
/// have different options, except --threads. **Errors**: as nn::require_same.
void require_one_program(const std::string& name,
                         const std::vector<std::pair<std::string, std::string>>& options);

/// As report_error, for the exception that is being handled; also ends the other processes, which
/// may wait for this one. Rank 0 does it at once. The others wait for rank 0, so that an error that
/// all processes have is printed once.
int report_failure(const std::string& name, std::string error);

}  // namespace tessera::examples
