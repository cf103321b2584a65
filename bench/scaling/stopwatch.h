// Times of calls, and what is typical of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace tessera::bench {

class Stopwatch {
 public:
  /// Seconds since the last call, or since it was made.
  double lap() {
    const Clock::time_point before = begin_;
    begin_ = Clock::now();
    return std::chrono::duration<double>(begin_ - before).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

/// The value below which this part of them lies; there must be one.
inline double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace tessera::bench
