// The exercises' checks, compiled with several codes: exercise_variants.cpp writes kVariants.
#pragma once

#include <string>
#include <vector>

namespace tessera::exercises {

/// A lesson's checks on one code: "unsolved", "solved", or the name of a mistake in the solution.
struct Variant {
  std::string lesson, name;
  std::vector<std::string> wanted;  // hints, or the numbers of unsolved exercises
  int (*check)();                   // prints, and returns an exit code
};

extern const std::vector<Variant> kVariants;

}  // namespace tessera::exercises
