// Mistakes that are planted one at a time into solutions of exercises.
#pragma once

#include <cstdlib>

namespace tessera::exercises {

/// Whether mistake `number` of this program is in its solutions: the variable TESSERA_MISTAKE says so.
inline bool planted(int number) {
  const char* const chosen = std::getenv("TESSERA_MISTAKE");
  return chosen != nullptr && std::atoi(chosen) == number;
}

}  // namespace tessera::exercises
