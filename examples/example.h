// The frame of a numbered example: an error is one line on standard error and exit code 2.
#pragma once

#include <exception>
#include <iostream>

#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"

namespace tessera::examples {

/// Calls `body`, which prints; what main() returns.
template <class Body>
int run_example(const char* name, const Body& body) {
  try {
    current_isa();  // an unknown TESSERA_ISA is an error before anything is printed
    body();
    std::cout.flush();
    if (!std::cout) fail_file("standard output", "not all could be written there");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << std::endl;
    return 2;
  }
}

}  // namespace tessera::examples
