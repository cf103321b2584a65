// The types of the exercises of examples/course/011_a_tape_in_60_lines.md.
#pragma once

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// How a number was computed: from two earlier numbers by '+' or '*'. For a variable, 'x', there are
/// no earlier numbers; a and b have no meaning.
struct Op {
  char kind;
  std::size_t a = 0, b = 0;
};

/// The inputs of each node, by their indices.
using Graph = std::vector<std::vector<std::size_t>>;

}  // namespace tessera::exercises
