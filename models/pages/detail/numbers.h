// Numbers as pages and logs show them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"

namespace tessera::pages {

/// `value` as logs have it: six digits that count, and whole numbers whole.
inline std::string number_text(double value) {
  constexpr double kMostWhole = 1e15;
  const bool is_whole = std::abs(value) < kMostWhole && value == std::trunc(value);
  return is_whole ? str_cat(static_cast<std::int64_t>(value)) : significant(value, 6);
}

/// "0.7 s", "12 s", "3 min 20 s", "1 h 5 min", or "-" if it is not finite.
inline std::string duration_text(double seconds) {
  constexpr double kMost = 1e12;
  if (!std::isfinite(seconds)) return "-";
  seconds = std::min(std::max(0.0, seconds), kMost);
  if (seconds < 9.95) return significant(seconds, 2) + " s";
  const std::int64_t all = std::llround(seconds);
  const auto both = [](std::int64_t n, const char* unit, std::int64_t rest, const char* smaller) {
    const std::string more = rest > 0 ? str_cat(" ", rest, smaller) : "";
    return n > 0 ? str_cat(n, unit, more) : more.substr(1);
  };
  if (all < 3600) return both(all / 60, " min", all % 60, " s");
  return both(all / 3600, " h", all / 60 % 60, " min");
}

}  // namespace tessera::pages
