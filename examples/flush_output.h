// The last call of every lesson and every program that prints.
#pragma once

#include <cstdio>
#include <iostream>

#include <tessera/tensor/error.h>

namespace tessera::examples {

/// Flushes standard output. **Errors**: a write that failed.
inline void flush_output() {
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!std::cout || !flushed) fail_file("standard output", "cannot be written completely");
}

}  // namespace tessera::examples
