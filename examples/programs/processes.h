// The processes that run a training program together: `mpirun -n 4 train_reverse ...` starts 4.
//
// All run the same code with the same options, and only rank 0 has output: the others' standard
// output is /dev/null, and they write no files. Without a launcher there is one process.
#pragma once

#include <string>

#include <tessera/nn/training/communicator.h>

namespace tessera::examples {

/// All processes that were started together with this one, including itself.
nn::Communicator& processes();

/// Whether this process prints and writes files: rank 0.
inline bool leaves_traces() {
  return processes().rank() == 0;
}

/// The default of --threads for this process: its part of its host's cores; 0, the library's
/// default, if it may use all cores that it can run on.
int default_threads();

/// While this object exists, processes() are those that the launcher has started. Command::run
/// makes one in programs that share work. **Errors**: several processes, if this program has no
/// MPI.
class ProcessesScope {
 public:
  ProcessesScope();
  ~ProcessesScope();
  ProcessesScope(const ProcessesScope&) = delete;
  ProcessesScope& operator=(const ProcessesScope&) = delete;
};

/// As report_error; also ends the other processes, which may wait for this one. Rank 0 does it at
/// once. The others wait for rank 0, so that an error that all processes have is printed once.
int report_failure(const std::string& name, std::string error);

}  // namespace tessera::examples
