#include "bench/results/units.h"
#include "tessera/tensor/format.h"

#include <array>
#include <cmath>

namespace tessera::results {

namespace {

struct Unit {
  double size;
  const char* name;
};

/// `value` in the largest unit that its rounded value reaches: not "1000 us".
template <std::size_t kCount>
std::string in_units(double value, const std::array<Unit, kCount>& units, int digits = 3) {
  const double reached = 1 - 0.5 * std::pow(10, -digits);
  const Unit* chosen = units.data();
  while (chosen != &units.back() && std::abs(value) < reached * chosen->size) ++chosen;
  return digits_text(value / chosen->size, digits) + " " + chosen->name;
}

}  // namespace

std::string digits_text(double value, int digits) {
  int after_point = digits - 1;
  double limit = 10;
  while (after_point > 0 && std::abs(value) >= limit - 0.5 * std::pow(10, -after_point)) {
    limit *= 10;
    --after_point;
  }
  return decimals(value, after_point);
}

std::string seconds_text(double seconds, int digits) {
  return in_units(
      seconds, std::array<Unit, 4>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}}, digits);
}

std::string bytes_text(double bytes) {
  return in_units(bytes, std::array<Unit, 4>{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}});
}

std::string scaled_text(double value) {
  return in_units(
      value,
      std::array<Unit, 6>{{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}},
      4);
}

}  // namespace tessera::results
