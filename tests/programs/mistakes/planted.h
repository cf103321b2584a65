// Mistakes that are planted one at a time into solutions of exercises.
#pragma once

#include <cstdlib>
#include <string>

namespace tessera::exercises {

/// Whether the mistake of this name is in the solutions: the variable TESSERA_MISTAKE has its name.
inline bool planted(const char* name) {
  const char* const chosen = std::getenv("TESSERA_MISTAKE");
  return chosen != nullptr && std::string(chosen) == name;
}

}  // namespace tessera::exercises
