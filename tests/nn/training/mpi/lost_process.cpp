// A program of three processes in which rank 1 is lost, in the way given by the argument, while the
// others wait for it; lost_process.cmake reads their output.
#include <signal.h>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include "tessera/nn/training/mpi/session.h"

namespace {

void run(const std::string& how) {
  tessera::mpi::Session session;
  try {
    tessera::nn::Communicator& processes = session.communicator();
    processes.all_gather("all are here");
    if (processes.rank() == 1) {
      if (how == "killed") raise(SIGKILL);
      if (how == "thrown") throw 1;
      if (how == "error") throw std::runtime_error("rank 1 found an error");
      if (how == "left") return;
    }
    if (how != "left" || processes.rank() == 0) processes.all_gather("");
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    session.end_all(3);
  }
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::string how = count > 1 ? arguments[1] : "none";
    run(how);
    if (how == "twice") run(how);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  } catch (int) {
    return 2;
  }
  return 0;
}
