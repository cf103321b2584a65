// Natural mistakes, which checks recognise by their results and tests plant.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "examples/course/exercises/check.h"

namespace tessera::exercises {

/// A wrong result, and what was done to get it.
template <class T>
struct Mistake {
  T result;
  std::string says;
};

/// expect_close, but a result that a mistake explains is named by it.
template <class T>
void expect_no_mistake(const std::string& what, const T& found, const T& wanted,
                       const std::vector<Mistake<T>>& mistakes, double tolerance = 1e-12) {
  const auto is = [&](const T& result) {
    try {
      expect_close(what, found, result, tolerance);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  if (is(wanted)) return;
  for (const Mistake<T>& each : mistakes) expect(!is(each.result), what + ": " + each.says);
  expect_close(what, found, wanted, tolerance);
}

/// Whether a file of mistakes/ shall make this one: tests/programs/mistakes_test.cmake names it.
inline bool planted(const char* name) {
  const char* const chosen = std::getenv("TESSERA_MISTAKE");
  return chosen != nullptr && std::string(chosen) == name;
}

}  // namespace tessera::exercises
