// The frame of a numbered example: an error is one line on standard error and exit code 2.
#pragma once

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/nn/training/communicator.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/kernels/dispatch.h>
#include "examples/flush_output.h"
#include "examples/named_error.h"

namespace tessera::examples {

/// Calls `body`, which prints; returns the exit code for main(). **Errors**: also several processes
/// of mpirun, because each would do the same.
template <class Body>
int run_example(const char* name, const Body& body) {
  try {
    current_isa();  // an unknown TESSERA_ISA is an error before anything is printed
    if (nn::launched_processes() > 1) {
      throw std::runtime_error(str_cat("must run in one process, got ", nn::launched_processes(),
                                       "; start it without mpirun"));
    }
    body();
    flush_output();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << named_error(name, text_of(error)) << std::endl;
    return 2;
  }
}

/// The same for an example whose arguments are files or folders, which `usage` names. --help prints
/// `usage`; **Errors**: also any other option.
template <class Body>
int run_example(const char* name, int argc, char** argv, const char* usage, const Body& body) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (std::ranges::find(arguments, "--help") != arguments.end()) {
    std::cout << "usage: " << name << ' ' << usage << std::endl;
    return 0;
  }
  return run_example(name, [&] {
    for (const std::string& argument : arguments) {
      require(!argument.starts_with('-'), "arguments", "must be ", usage, ", got ",
              printable(argument));
    }
    body();
  });
}

}  // namespace tessera::examples
