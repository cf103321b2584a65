// The exercises' checks, compiled with several codes: exercise_variants.cpp writes kVariants.
#pragma once

#include <string>
#include <vector>

#include "examples/course/exercises/check.h"

namespace tessera::exercises {

/// A lesson's checks on one code: "unsolved", "solved", or the name of a mistake in the solution.
struct Variant {
  std::string lesson, name;
  std::vector<std::string> wanted;  // hints, or the numbers of unsolved exercises
  std::vector<Exercise> (*exercises)();
};

extern const std::vector<Variant> kVariants;

}  // namespace tessera::exercises
