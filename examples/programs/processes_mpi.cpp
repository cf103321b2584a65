// Programs built with MPI: mpirun or srun may start several processes.
#include "examples/programs/processes_launch.h"
#include "nn/training/mpi/session.h"

namespace tessera::examples {

Launch join_launch() {
  const auto session = std::make_shared<mpi::Session>();
  return {session, &session->communicator(), session->threads(),
          [session](int code) { session->end_all(code); }};
}

}  // namespace tessera::examples
