// A program under mpirun or srun: the same program in as many processes as were started.
//
//   #include "tessera/nn/training/mpi/session.h"
//
//   int main() {
//     tessera::mpi::Session session;  // before files are opened and threads are started
//     try {
//       tessera::set_thread_count(session.threads());
//       train({.shards = 8, .communicator = &session.communicator()});  // nn::TrainerOptions
//     } catch (const std::exception& error) {
//       std::cerr << error.what() << '\n';
//       session.end_all(1);
//     }
//   }
//
// Link tessera::mpi, and start the program with `mpirun -n 8 ./program`. If the program is started
// as `./program`, there is one process, and MPI is not initialised.
#pragma once

#include <memory>

#include "tessera/nn/training/communicator.h"

namespace tessera::mpi {

/// Starts MPI if a launcher has started several processes (nn::launched_processes), and ends MPI in
/// the destructor.
///
/// Make one session in main. If MPI runs already, that MPI is used and left running. Only the
/// thread that made the session may call its functions (MPI_THREAD_FUNNELED). If a process dies,
/// the launcher ends the others. An error of MPI ends all processes, with a message of MPI.
/// **Source**: "MPI: A Message-Passing Interface Standard", MPI_Init_thread.
class Session {
 public:
  /// **Errors**: std::runtime_error if MPI does not see all processes that were started, because
  /// this MPI is not the launcher's, or if MPI has ended in this process: it cannot start again.
  Session();

  /// Waits for the other processes, and ends MPI if the session started it. If an exception unwinds
  /// the stack, or another process still waits for this one, ends all processes, because the others
  /// could wait forever. The exception is then lost: catch it while the session lives.
  ~Session();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// All processes that were started together: those of MPI_COMM_WORLD. **Errors** of its
  /// functions: another process has reached the end of its session.
  nn::Communicator& communicator() { return *communicator_; }

  /// The number of threads for this process: OMP_NUM_THREADS if it is set; otherwise the number of
  /// cores that the processes of this host may run on, divided by the number of these processes. At
  /// least 1.
  int threads() const { return threads_; }

  /// Ends all processes at once; `code` becomes the exit status of the launcher.
  [[noreturn]] void end_all(int code);

 private:
  std::unique_ptr<nn::Communicator> communicator_;
  int threads_;
  int exceptions_;  // in flight when the session began
  bool uses_mpi_ = false;
  bool ends_mpi_ = false;
};

}  // namespace tessera::mpi
