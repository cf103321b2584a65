// How a program joins the processes that were started with it: by MPI (processes_mpi.cpp), or, built
// without it, not at all (processes_alone.cpp). The frame of a command line includes this; programs
// include processes.h.
#pragma once

#include <memory>
#include <string>

#include "nn/training/communicator.h"

namespace tessera::examples {

/// The processes that a launcher has started, while they run.
class Launch {
 public:
  virtual ~Launch() = default;
  virtual nn::Communicator& processes() = 0;
  /// This process's share of its host's cores; 0: the library's default.
  virtual int threads() const = 0;
  /// Ends all processes, at once.
  [[noreturn]] virtual void end_all(int code) = 0;
};

/// Joins the others. **Errors**: there are others, and this program cannot.
std::unique_ptr<Launch> join_launch();

/// While one is in scope, which is the whole of a program, processes() are those of the launcher, and
/// standard output of all but rank 0 goes nowhere.
class ProcessesScope {
 public:
  /// **Errors**: as join_launch.
  ProcessesScope();
  ~ProcessesScope();
  ProcessesScope(const ProcessesScope&) = delete;
  ProcessesScope& operator=(const ProcessesScope&) = delete;

 private:
  std::unique_ptr<Launch> launch_;
};

/// Refuses processes that are not one program of one version on one kind of instruction set, or that
/// have other options; only --threads may differ. **Errors**: as nn::require_agreement.
void require_one_program(const std::string& name, nn::NamedTexts options);

/// As report_error, of the exception that is being handled, and ends the other processes, which may
/// wait for this one. Rank 0 does it at once. The others give it time to, so that what all of them
/// find wrong is said once.
int report_failure(const std::string& name, std::string error);

}  // namespace tessera::examples
