// A program as in a build without MPI, for any build of this test.
#include <iostream>

#include "examples/programs/command.h"

int main(int argc, char** argv) {
  tessera::examples::Command command("without_mpi", "Says that it runs.");
  return command.run(argc, argv, [] { std::cout << "it runs" << std::endl; });
}
