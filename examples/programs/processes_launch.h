// How a program joins the processes that were started with it: by MPI (processes_mpi.cpp), or, built
// without it, not at all (processes_alone.cpp). The frame of a command line includes this; programs
// include processes.h.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nn/training/communicator.h"

namespace tessera::examples {

/// The processes that a launcher has started, while they run.
struct Launch {
  std::shared_ptr<void> session;  // while it lives
  nn::Communicator* processes;
  int threads;  // this process's share of its host's cores; 0: the library's default
  std::function<void(int code)> end_all;  // all processes, at once
};

/// Joins the others. **Errors**: there are others, and this program cannot.
Launch join_launch();

/// While one is in scope, which is the whole of a program, processes() are those of the launcher, and
/// standard output of all but rank 0 goes nowhere. **Errors**: as join_launch.
class ProcessesScope {
 public:
  ProcessesScope();
  ~ProcessesScope();
  ProcessesScope(const ProcessesScope&) = delete;
  ProcessesScope& operator=(const ProcessesScope&) = delete;

 private:
  Launch launch_;
};

/// Refuses processes that are not one program of one version on one kind of instruction set, or that
/// have other options; only --threads may differ. **Errors**: as nn::require_agreement.
void require_one_program(const std::string& name, nn::NamedTexts options);

/// As report_error, of the exception that is being handled, and ends the other processes, which may
/// wait for this one. Rank 0 does it at once. The others give it time to, so that what all of them
/// find wrong is said once.
int report_failure(const std::string& name, std::string error);

}  // namespace tessera::examples
