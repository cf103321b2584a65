// The machine of a program, as described by Linux.
#pragma once

#include <string>

#include "tensor/kernels/types.h"

namespace tessera::examples {

struct Processor {
  std::string name = "unknown";
  index_t sockets = 1;
  index_t cores = 1;  // of all sockets; a core may run several threads
};

/// The contents of /proc/cpuinfo; if it has no core numbers, each logical processor is one core.
Processor processor();

/// The time in the format `layout` of strftime.
std::string utc_now(const char* layout);

}  // namespace tessera::examples
