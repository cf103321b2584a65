// The line that a program prints for an error.
#pragma once

#include <string>

namespace tessera::examples {

/// `name: error`, with the name once: errors of the program itself already begin with it.
inline std::string named_error(const std::string& name, const std::string& error) {
  const std::string prefix = name + ": ";
  return error.starts_with(prefix) ? error : prefix + error;
}

}  // namespace tessera::examples
