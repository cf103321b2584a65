#include "bench/results/units.h"

#include <array>
#include <cmath>

#include "models/pages/numbers.h"

namespace tessera::results {

namespace {

struct Unit {
  double size;
  const char* name;
};

/// `value` in the largest unit that it reaches.
template <std::size_t kCount>
std::string in_units(double value, const std::array<Unit, kCount>& units) {
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.size) return three_digits(value / unit.size) + " " + unit.name;
  }
  return three_digits(value / units.back().size) + " " + units.back().name;
}

}  // namespace

std::string three_digits(double value) {
  const double size = std::abs(value);
  return pages::decimals(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

std::string seconds_text(double seconds) {
  return in_units(seconds,
                  std::array<Unit, 4>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}});
}

std::string bytes_text(double bytes) {
  return in_units(bytes, std::array<Unit, 4>{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}});
}

std::string flops_text(double flops_s) {
  return in_units(flops_s,
                  std::array<Unit, 3>{{{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}}});
}

}  // namespace tessera::results
