// Lines with the scores that order them, as printed by searches.
#pragma once

#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

#include "examples/programs/console.h"
#include "examples/programs/progress.h"
#include "tensor/error.h"
#include "tensor/io/json.h"

namespace tessera::examples {

/// Prints line number `i`, counted from 0, as a row: its score, its number counted from 1, and the
/// line; or the same as a JSON object.
template <class Score>
void print_scored_line(const std::vector<std::string>& lines, std::size_t i, Score score,
                       bool json) {
  if (json) {
    std::cout << JsonObject({{"line", i + 1}, {"score", score}, {"text", lines[i]}}).text() << '\n';
  } else {
    std::cout << fixed(score, 4) << '\t' << i + 1 << '\t' << escaped_line(lines[i]) << '\n';
  }
}

}  // namespace tessera::examples
