// The time of repeated work: its shortest run.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace tessera::bench {

/// The time of the shortest run, of at least three that take at least `seconds` together.
template <class Run>
double best_seconds(double seconds, const Run& run) {
  using SteadyClock = std::chrono::steady_clock;
  const auto since = [](SteadyClock::time_point start) {
    return std::chrono::duration<double>(SteadyClock::now() - start).count();
  };
  double best = std::numeric_limits<double>::infinity();
  const auto start = SteadyClock::now();
  for (int i = 0; i < 3 || since(start) < seconds; ++i) {
    const auto begin = SteadyClock::now();
    run();
    best = std::min(best, since(begin));
  }
  return best;
}

}  // namespace tessera::bench
