// Programs built with MPI: mpirun or srun may start several processes.
#include "examples/programs/processes_launch.h"
#include "nn/training/mpi/session.h"

namespace tessera::examples {

namespace {

class MpiLaunch final : public Launch {
 public:
  nn::Communicator& processes() override { return session_.processes(); }
  int threads() const override { return session_.threads(); }
  void end_all(int code) override { session_.end_all(code); }

 private:
  mpi::Session session_;
};

}  // namespace

std::unique_ptr<Launch> join_launch() {
  return std::make_unique<MpiLaunch>();
}

}  // namespace tessera::examples
