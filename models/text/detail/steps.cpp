#include "models/text/detail/steps.h"

#include <cstddef>

namespace tessera::text {

namespace {

void add_steps(const Json& sequence, std::string_view key, std::vector<Json>& steps) {
  constexpr std::ptrdiff_t kMostSteps = 100;
  for (const Json& step : sequence.at(key).items()) {
    if (step.is_object() && step.text("type", "") == "Sequence") {
      add_steps(step, key, steps);
      continue;
    }
    if (std::ssize(steps) == kMostSteps) {
      sequence.fail("must have at most ", kMostSteps, " steps, got more");
    }
    steps.push_back(step);
  }
}

}  // namespace

std::vector<Json> step_list(const Json& sequence, std::string_view key) {
  std::vector<Json> steps;
  add_steps(sequence, key, steps);
  return steps;
}

}  // namespace tessera::text
