// Programs built without MPI: there is one process.
#include <cstdlib>
#include <stdexcept>

#include "examples/programs/processes_launch.h"
#include "nn/training/launch.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

class NoLaunch final : public Launch {
 public:
  nn::Communicator& processes() override { return alone_; }
  int threads() const override { return 0; }
  void end_all(int code) override { std::_Exit(code); }

 private:
  nn::OneProcess alone_;
};

}  // namespace

std::unique_ptr<Launch> join_launch() {
  const index_t processes = nn::launched_processes();
  if (processes > 1) {
    throw std::runtime_error(
        str_cat("a build without MPI must run in one process, got ", processes,
                "; install MPI (libopenmpi-dev) and build again, or start it without mpirun"));
  }
  return std::make_unique<NoLaunch>();
}

}  // namespace tessera::examples
