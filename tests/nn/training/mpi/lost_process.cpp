// A program of three processes of which rank 1 is lost, as the argument says; lost_process.cmake reads
// what the others say.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "nn/training/mpi/session.h"

namespace {

using tessera::index_t;

/// Rank 0 waits for a message of rank 1, rank 2 for all.
void wait_for_rank_1(tessera::nn::Communicator& processes) {
  std::byte byte;
  if (processes.rank() == 0) {
    processes.receive(1, 0, {&byte, 1});
    processes.wait();
  }
  if (processes.rank() == 2) processes.all_gather("");
}

void run(const std::string& how) {
  tessera::mpi::Session session;
  tessera::nn::Communicator& processes = session.processes();
  try {
    processes.all_gather("all are there");
    if (processes.rank() == 1) {
      if (how == "thrown") throw 1;
      if (how != "none") std::raise(SIGKILL);
    }
    if (how != "killed_at_the_end") wait_for_rank_1(processes);
  } catch (const tessera::nn::ProcessLost& lost) {
    std::fprintf(stderr, "<%d: %s>\n", static_cast<int>(processes.rank()), lost.what());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the others say it too
    session.end_all(3);
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    run(count > 1 ? arguments[1] : "none");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "<%s>\n", error.what());
    return 1;
  } catch (int) {
    return 2;
  }
  return 0;
}
