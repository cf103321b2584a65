// A program of three processes in which rank 1 is lost, in the way given by the argument;
// lost_process.cmake reads the output of the others.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "nn/training/mpi/session.h"

namespace {

/// Rank 1 has the id `lost`. Rank 0 is computing when the launcher signals that rank 1 is lost, and
/// then waits for its message; rank 2 waits for all.
void wait_for_rank_1(tessera::nn::Communicator& processes, pid_t lost) {
  if (processes.rank() == 0) {
    while (kill(lost, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    raise(SIGTERM);
    std::byte byte;
    processes.receive(1, 0, {&byte, 1});
    processes.wait();
  }
  if (processes.rank() == 2) processes.all_gather("");
}

void run(const std::string& how) {
  tessera::mpi::Session session;
  tessera::nn::Communicator& processes = session.communicator();
  try {
    const std::vector<std::string> ids = processes.all_gather(std::to_string(getpid()));
    if (processes.rank() == 1) {
      if (how == "killed") raise(SIGKILL);
      if (how == "ended") raise(SIGTERM);  // no process is lost, so the signal is not delayed
      if (how == "thrown") throw 1;
      if (how.starts_with("left")) return;
    }
    if (how == "left") processes.all_gather("");
    if (how == "left_unanswered") {
      std::vector<std::byte> bytes(1 << 20);
      if (processes.rank() == 0) processes.receive(1, 0, bytes);
      if (processes.rank() == 2) processes.send(1, 0, bytes);
      processes.wait();
    }
    if (how == "killed") wait_for_rank_1(processes, std::stoi(ids.at(1)));
  } catch (const tessera::nn::ProcessLost& lost) {
    std::fprintf(stderr, "<%d: %s>\n", static_cast<int>(processes.rank()), lost.what());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the others report it too
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
