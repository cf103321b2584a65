#include "models/pages/detail/axis_ticks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/pages/detail/numbers.h"

namespace tessera::pages {

namespace {

constexpr double kLeast = 1e-300, kMost = 1e300;

/// The exponent of the power of 10 at or below `value`.
int power_of(double value) {
  return static_cast<int>(std::floor(std::log10(value) + 1e-9));
}

bool is_whole(double value) {
  return value == std::trunc(value);
}

/// `value` with digits down to those of `step`.
std::string text_of(double value, double step, double largest) {
  constexpr double kMostPlain = 1e6;
  constexpr double kLeastPlain = 1e-4;
  constexpr int kMostDigits = 16;
  if (largest < kMostPlain && step >= kLeastPlain) {
    return decimals(value == 0 ? 0 : value, std::max(0, -power_of(step)));
  }
  if (value == 0) return "0";
  const int power = power_of(std::abs(value));
  const int digits = std::clamp(power - power_of(step), 0, kMostDigits);
  std::string text = decimals(value / std::pow(10, power), digits);
  if (digits > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "e" + std::to_string(power);
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

std::vector<Tick> linear_ticks(const Interval& interval, int most) {
  const double step = step_of(interval, most);
  const double first = std::ceil(interval.low / step - 1e-6);
  const double last = std::floor(interval.high / step + 1e-6);
  const double largest = std::max(std::abs(interval.low), std::abs(interval.high));
  std::vector<Tick> result;
  for (double i = first; i <= last && std::ssize(result) < most; ++i) {
    const double value = i * step;
    if (!result.empty() && value == result.back().value) break;  // the step is below a double's
    result.push_back({value, text_of(value, step, largest)});
  }
  return result;
}

std::vector<Tick> log_ticks(const Interval& interval, int most) {
  std::vector<Tick> fine, powers;
  for (int power = power_of(interval.low); power <= power_of(interval.high); ++power) {
    const double ten = std::pow(10, power);
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * ten;
      if (value < interval.low * (1 - 1e-9) || value > interval.high * (1 + 1e-9)) continue;
      fine.push_back({value, text_of(value, ten, value)});
      if (factor == 1) powers.push_back(fine.back());
    }
  }
  if (std::ssize(fine) < 2) return linear_ticks(interval, most);
  if (std::ssize(fine) <= most) return fine;
  std::vector<Tick> result;
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

std::vector<Tick> ticks(const Interval& interval, Scale scale, int most) {
  return scale == Scale::kLinear ? linear_ticks(interval, most) : log_ticks(interval, most);
}

std::vector<Tick> ticks_with_ends(const Interval& interval, const Axis& axis, int most,
                                  const TextRoom& room) {
  std::vector<Tick> found = ticks(interval, axis.scale, most);
  if (axis.whole) {
    std::erase_if(found, [](const Tick& tick) { return !is_whole(tick.value); });
    for (Tick& tick : found) tick.text = number_text(tick.value);
  }
  const auto distance = [&](const Tick& a, const Tick& b) {
    return std::abs(position(a.value, interval, axis.scale) -
                    position(b.value, interval, axis.scale));
  };
  std::vector<Tick> kept;
  for (const double end : {interval.low, interval.high}) {
    if (axis.whole && !is_whole(end)) continue;
    Tick tick = {end, is_whole(end) ? number_text(end) : significant(end, 4)};
    for (const Tick& round : found) {
      if (distance(round, tick) < 1e-9) tick = round;
    }
    kept.push_back(tick);
  }
  for (const Tick& tick : found) {
    const auto has_room = [&](const Tick& other) {
      const auto characters = static_cast<double>(tick.text.size() + other.text.size()) / 2;
      return distance(tick, other) >= room.each + characters * room.character;
    };
    if (std::ranges::all_of(kept, has_room)) kept.push_back(tick);
  }
  std::ranges::sort(kept, {}, &Tick::value);
  return kept;
}

}  // namespace tessera::pages
