#include "examples/programs/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>

#include <tessera/tensor/error.h>
#include <tessera/tensor/kernels/parallel.h>
#include "examples/programs/cli.h"
#if defined(TESSERA_HAS_MPI)
#include <tessera/nn/training/mpi/session.h>
#endif

namespace tessera::examples {

namespace {

#if defined(TESSERA_HAS_MPI)
using Session = mpi::Session;
#else
/// A build without MPI: there is one process.
class Session {
 public:
  Session() {
    const index_t launched = nn::launched_processes();
    if (launched == 1) return;
    throw std::runtime_error(
        str_cat("a build without MPI must run in one process, got ", launched,
                "; install MPI (libopenmpi-dev) and build again, or start it without mpirun"));
  }
  nn::Communicator& communicator() { return one_; }
  static int threads() { return 0; }
  [[noreturn]] static void end_all(int code) { std::_Exit(code); }

 private:
  nn::OneProcess one_;
};
#endif

std::unique_ptr<Session> session;

}  // namespace

nn::Communicator& processes() {
  static nn::OneProcess one;
  return session ? session->communicator() : one;
}

int default_threads() {
  if (processes().size() == 1) return 0;
  // By default the library uses one thread while other programs use the processors; a given number
  // is always used.
  return session->threads() == thread_count() ? 0 : session->threads();
}

ProcessesScope::ProcessesScope() {
  session = std::make_unique<Session>();
  if (leaves_traces()) return;
  const int nowhere = open("/dev/null", O_WRONLY);  // mpirun shows the output of all
  if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) {
    fail_file("/dev/null", "cannot be opened, but must take the standard output of ranks above 0");
  }
  close(nowhere);
}

ProcessesScope::~ProcessesScope() {
  session.reset();
}

int report_failure(const std::string& name, std::string error) {
  const index_t rank = processes().rank();
  if (rank > 0) {
    using std::chrono::milliseconds;
    std::this_thread::sleep_for(std::min(milliseconds(600) * rank * rank, milliseconds(3000)));
    const std::string prefix = name + ": ";
    if (error.starts_with(prefix)) error.erase(0, prefix.size());
    error = str_cat("rank ", rank, ": ", error);
  }
  const int code = report_error(name, error);
  if (processes().size() > 1) session->end_all(code);
  return code;
}

}  // namespace tessera::examples
