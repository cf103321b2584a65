#include "tessera/models/pages/detail/axis_ticks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::pages {

namespace {

constexpr double kLeast = 1e-300, kMost = 1e300;

/// The exponent of the power of 10 at or below `value`.
int power_of(double value) {
  return static_cast<int>(std::floor(std::log10(value) + 1e-9));
}

/// The smallest of 1, 2, 5, 10 times a power of 10 that cuts the span into `most` - 1 parts or
/// fewer.
double step_of(const Interval& interval, int most) {
  const double raw = (interval.high - interval.low) / std::max(1, most - 1);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(const Interval& interval, int most) {
  const double step = step_of(interval, most);
  const double first = std::ceil(interval.low / step - 1e-6) + 0.0;  // not -0
  const double last = std::floor(interval.high / step + 1e-6);
  std::vector<double> result;
  for (double i = first; i <= last && std::ssize(result) < most; ++i) {
    const double value = i * step;
    if (!result.empty() && value == result.back()) break;  // the step is below a double's
    result.push_back(value);
  }
  return result;
}

std::vector<double> log_ticks(const Interval& interval, int most) {
  std::vector<double> fine, powers;
  for (int power = power_of(interval.low); power <= power_of(interval.high); ++power) {
    const double ten = std::pow(10, power);
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * ten;
      if (value < interval.low * (1 - 1e-9) || value > interval.high * (1 + 1e-9)) continue;
      fine.push_back(value);
      if (factor == 1) powers.push_back(value);
    }
  }
  if (std::ssize(fine) < 2) return linear_ticks(interval, most);
  if (std::ssize(fine) <= most) return fine;
  std::vector<double> result;
  const std::ptrdiff_t stride = (std::ssize(powers) + most - 1) / most;
  for (std::ptrdiff_t i = 0; i < std::ssize(powers); i += stride) {
    result.push_back(powers[static_cast<std::size_t>(i)]);
  }
  return result;
}

}  // namespace

bool is_drawable(double value, Scale scale) {
  return std::abs(value) < kMost && (scale == Scale::kLinear || value > kLeast);
}

double position(double value, const Interval& interval, Scale scale) {
  const auto place = [&](double x) { return scale == Scale::kLog10 ? std::log10(x) : x; };
  const double low = place(interval.low);
  return (place(value) - low) / (place(interval.high) - low);
}

Interval interval_of(std::span<const double> values, Scale scale) {
  Interval found{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!is_drawable(value, scale)) continue;
    found.low = std::min(found.low, value);
    found.high = std::max(found.high, value);
  }
  const bool is_log = scale == Scale::kLog10;
  if (found.low > found.high) return is_log ? Interval{1, 10} : Interval{0, 1};
  // What is nearly one value is drawn as if it were: rounding is no curve.
  const double size = std::max(std::abs(found.low), std::abs(found.high));
  if (found.high - found.low > size * 1e-12) return found;
  if (size < kLeast) return {0, 1};
  return {found.low - size * 0.05, found.high + size * 0.05};
}

Interval rounded(const Interval& interval, Scale scale, int most) {
  if (scale == Scale::kLog10) {
    Interval wide = interval;
    const double low = std::pow(10, power_of(interval.low));
    const double high = std::pow(10, power_of(interval.high));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * low <= interval.low) wide.low = factor * low;
    }
    for (const double factor : {10.0, 5.0, 2.0, 1.0}) {
      if (factor * high >= interval.high) wide.high = factor * high;
    }
    return wide;
  }
  const double step = step_of(interval, most);
  return {step * std::floor(interval.low / step + 1e-6),
          step * std::ceil(interval.high / step - 1e-6)};
}

std::vector<double> ticks(const Interval& interval, Scale scale, int most) {
  return scale == Scale::kLinear ? linear_ticks(interval, most) : log_ticks(interval, most);
}

}  // namespace tessera::pages
