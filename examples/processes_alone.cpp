// Programs built without MPI: a process is alone.
#include <cstdlib>

#include "examples/processes_launch.h"

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
  return std::make_unique<NoLaunch>();
}

}  // namespace tessera::examples
