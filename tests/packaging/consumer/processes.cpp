#include <tessera/nn/training/mpi/session.h>

int main() {
  tessera::mpi::Session session;
  const bool is_alone = session.communicator().all_gather("me").size() == 1;
  return is_alone && session.threads() >= 1 ? 0 : 1;
}
