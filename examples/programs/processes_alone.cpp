// Programs built without MPI: there is one process.
#include <cstdlib>
#include <stdexcept>

#include "examples/programs/processes_launch.h"
#include "nn/training/communicator.h"
#include "tensor/error.h"

namespace tessera::examples {

Launch join_launch() {
  const index_t processes = nn::launched_processes();
  if (processes > 1) {
    throw std::runtime_error(
        str_cat("a build without MPI must run in one process, got ", processes,
                "; install MPI (libopenmpi-dev) and build again, or start it without mpirun"));
  }
  static nn::OneProcess alone;
  return {nullptr, &alone, 0, [](int code) { std::_Exit(code); }};
}

}  // namespace tessera::examples
