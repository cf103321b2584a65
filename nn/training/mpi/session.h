// A program's time under mpirun or srun: the same program, on as many processes as were started.
//
//   #include "nn/training/mpi/session.h"
//
//   int main() {
//     tessera::mpi::Session session;  // before files are opened and threads are started
//     try {
//       tessera::set_thread_count(session.threads());
//       train({.shards = 8, .processes = &session.processes()});  // nn::TrainerOptions
//     } catch (const std::exception& error) {
//       std::cerr << error.what() << '\n';
//       session.end_all(1);
//     }
//   }
//
// Link tessera::mpi, and start it with `mpirun -n 8 ./program`. Started as `./program` it is one
// process, and MPI is not even initialised.
#pragma once

#include <memory>

#include "nn/training/communicator.h"

namespace tessera::mpi {

class MpiCommunicator;

/// Starts MPI where a launcher has started several processes (nn::launched_processes), and ends it.
///
/// One in a program, in main. Where MPI runs already, because the program or another Session has
/// started it, that one is used and left running. All functions are for the thread that made the
/// session (MPI_THREAD_FUNNELED).
///
/// While a session lives, a SIGTERM by which the launcher ends the survivors of a lost process
/// waits up to 5 seconds, so that they can still say which was lost.
class Session {
 public:
  /// **Errors**: std::runtime_error where MPI does not see the processes that were started, because
  /// it is another MPI than the launcher's, or was ended before.
  Session();

  /// Waits for the others and ends MPI. Where an exception unwinds the stack the others may wait for
  /// this process for ever, so all are ended, and the exception is not seen by anyone: catch it while
  /// the session lives.
  ~Session();

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// All processes that were started together: those of MPI_COMM_WORLD.
  nn::Communicator& processes() { return *processes_; }

  /// The threads for this process: OMP_NUM_THREADS where it is set; else the cores of its host
  /// that it may run on, each divided by the number of processes that may run on it too; at least 1.
  int threads() const { return threads_; }

  /// Ends all processes at once; the launcher gives the code back.
  [[noreturn]] void end_all(int code);

 private:
  std::unique_ptr<nn::Communicator> processes_;
  MpiCommunicator* mpi_ = nullptr;  // processes_, where there are several
  int threads_;
  int exceptions_;  // in flight when the session began
  bool ends_mpi_ = false;
};

}  // namespace tessera::mpi
