// A program as it is in a build without MPI, whatever this build is.
#include <iostream>

#include "examples/programs/command.h"

int main(int argc, char** argv) {
  tessera::examples::Command command("without_mpi", "Says that it runs.");
  return command.run(argc, argv, [] { std::cout << "it runs" << std::endl; });
}
