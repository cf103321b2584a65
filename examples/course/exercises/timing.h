// The time of an exercise's code, next to that of a ladder's step.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tessera::exercises {

/// The best time of some calls, in milliseconds.
template <class Run>
double best_ms(const Run& run) {
  double best = HUGE_VAL;
  double total = 0;
  for (int call = 0; call < 3 || (total < 30 && call < 50); ++call) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
    total += time.count();
  }
  return best;
}

}  // namespace tessera::exercises
