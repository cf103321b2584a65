#include "examples/programs/machine.h"

#include <string>
#include <thread>

#include "examples/programs/host.h"
#include "examples/programs/processes.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::examples {

namespace {

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

pages::Facts machine_facts() {
  return {{"processor", processor().name},
          {"logical cores", str_cat(std::thread::hardware_concurrency())},
          {"processes", str_cat(processes().size())},
          {"threads of a process", str_cat(thread_count())},
          {"instruction set", current_isa()},
          {"compiler", compiler_name()},
          {"begun", utc_now("%Y-%m-%d %H:%M:%S UTC")}};
}

}  // namespace tessera::examples
