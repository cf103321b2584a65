// The machine that a program runs on, as Linux describes it.
#pragma once

#include <string>

#include "tensor/kernels/types.h"

namespace tessera::examples {

struct Processor {
  std::string name = "unknown";
  index_t sockets = 1;
  index_t cores = 1;  // of all sockets; a core may run several threads
};

/// The contents of /proc/cpuinfo; if it names no core, each logical processor counts as one.
Processor processor();

/// The time as `layout` says, in the letters of strftime.
std::string utc_now(const char* layout);

}  // namespace tessera::examples
