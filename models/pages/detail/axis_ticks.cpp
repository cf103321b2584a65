#include "models/pages/detail/axis_ticks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>

#include "models/pages/detail/numbers.h"

namespace tessera::pages {

namespace {

// Spans of doubles may exceed the largest double.
using Wide = long double;

constexpr double kLeast = 1e-300;  // below, doubles lose their digits

/// `value` with so many digits after the point, times a power of 10: "1.5e7".
std::string scientific(double value, int digits) {
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  const Wide factor = std::pow(Wide{10}, power);
  std::string text = decimals(static_cast<double>(value / factor), digits);
  if (digits > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + "e" + std::to_string(power);
}

/// `value` with digits down to those of `step`.
std::string text_of(double value, double step, double largest) {
  constexpr double kMostPlain = 1e6;
  constexpr double kLeastPlain = 1e-4;
  constexpr int kMostDigits = 16;
  if (value == 0 && (largest >= kMostPlain || step < kLeastPlain)) return "0";
  const int place = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  if (largest < kMostPlain && step >= kLeastPlain) {
    return decimals(value == 0 ? 0 : value, std::max(0, -place));
  }
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  return scientific(value, std::clamp(power - place, 0, kMostDigits));
}

/// The smallest of 1, 2, 5, 10, 20, ... times a power of 10 that cuts the span into `most` - 1
/// parts or fewer.
Wide step_of(const Interval& interval, int most) {
  const Wide raw = (static_cast<Wide>(interval.high) - interval.low) / std::max(1, most - 1);
  const Wide power = std::pow(Wide{10}, std::floor(std::log10(raw)));
  for (const Wide factor : {Wide{1}, Wide{2}, Wide{5}}) {
    if (factor * power >= raw * (1 - 1e-9L)) return factor * power;
  }
  return 10 * power;
}

std::vector<Tick> linear_ticks(const Interval& interval, int most) {
  const Wide step = step_of(interval, most);
  const Wide first = std::ceil(interval.low / step - 1e-6L);
  const Wide last = std::floor(interval.high / step + 1e-6L);
  const double largest = std::max(std::abs(interval.low), std::abs(interval.high));
  std::vector<Tick> result;
  for (Wide i = first; i <= last && std::ssize(result) < most; ++i) {
    const auto value = static_cast<double>(i * step);
    if (!result.empty() && value == result.back().value) break;  // the step is below a double's
    result.push_back({value, text_of(value, static_cast<double>(step), largest)});
  }
  return result;
}

/// A number by itself: a power of 10, or 2 or 5 times one.
Tick round_tick(double value) {
  return {value, text_of(value, std::pow(10, std::floor(std::log10(value) + 1e-9)), value)};
}

/// The first of the factors, times the power of 10 below `value`, that lies on one side of it.
template <class Compare>
double round_tick_value(double value, std::initializer_list<double> factors, Compare is_beyond) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  for (const double factor : factors) {
    if (is_beyond(factor * power, value)) return factor * power;
  }
  return value;
}

std::vector<Tick> log_ticks(const Interval& interval, int most) {
  const int first = static_cast<int>(std::floor(std::log10(interval.low) + 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(interval.high) + 1e-9));
  const auto within = [&](double value) {
    return value >= interval.low * (1 - 1e-9) && value <= interval.high * (1 + 1e-9);
  };
  std::vector<Tick> fine, powers;
  for (int power = first; power <= last; ++power) {
    const double ten = std::pow(10, power);
    if (within(ten)) powers.push_back(round_tick(ten));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (within(factor * ten)) fine.push_back(round_tick(factor * ten));
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

bool is_whole(double value) {
  return value == std::trunc(value);
}

/// The round numbers that an axis may have: of a time in seconds, minutes or hours.
std::vector<Tick> ticks_of(const Interval& interval, const Axis& axis, int most) {
  const double unit = !axis.is_time || interval.high < 120 ? 1 : interval.high < 7200 ? 60 : 3600;
  std::vector<Tick> found = ticks({interval.low / unit, interval.high / unit}, axis.scale, most);
  if (axis.whole) std::erase_if(found, [](const Tick& tick) { return !is_whole(tick.value); });
  for (Tick& tick : found) {
    tick.value *= unit;
    if (axis.is_time) tick.text = duration_text(tick.value);
    if (axis.whole) tick.text = number_text(tick.value);
  }
  return found;
}

}  // namespace

bool is_drawable(double value, Scale scale) {
  return std::isfinite(value) && (scale == Scale::kLinear || value >= kLeast);
}

double position(double value, const Interval& interval, Scale scale) {
  if (scale == Scale::kLog10) {
    const double low = std::log10(interval.low);
    return (std::log10(value) - low) / (std::log10(interval.high) - low);
  }
  const Wide low = interval.low;
  return static_cast<double>((value - low) / (interval.high - low));
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
  if (found.high / 2 - found.low / 2 > size * 1e-12) return found;
  if (size < kLeast) return is_log ? Interval{kLeast, 10 * kLeast} : Interval{0, 1};
  const double most = std::numeric_limits<double>::max();
  const double margin = size * 0.05;
  return {std::max(found.low - margin, -most), std::min(found.high + margin, most)};
}

Interval rounded(const Interval& interval, Scale scale, int most) {
  if (scale == Scale::kLog10) {
    const double low = round_tick_value(interval.low, {5, 2, 1}, std::less_equal<>());
    const double high = round_tick_value(interval.high, {1, 2, 5, 10}, std::greater_equal<>());
    return low >= kLeast && std::isfinite(high) ? Interval{low, high} : interval;
  }
  const Wide step = step_of(interval, most);
  const auto low = static_cast<double>(step * std::floor(interval.low / step + 1e-6L));
  const auto high = static_cast<double>(step * std::ceil(interval.high / step - 1e-6L));
  return low < high && std::isfinite(low) && std::isfinite(high) ? Interval{low, high} : interval;
}

std::vector<Tick> ticks(const Interval& interval, Scale scale, int most) {
  return scale == Scale::kLinear ? linear_ticks(interval, most) : log_ticks(interval, most);
}

std::vector<Tick> ticks_with_ends(const Interval& interval, const Axis& axis, int most,
                                  const TextRoom& room) {
  std::vector<Tick> found = ticks_of(interval, axis, most);
  const auto distance = [&](const Tick& a, const Tick& b) {
    return std::abs(position(a.value, interval, axis.scale) -
                    position(b.value, interval, axis.scale));
  };
  std::vector<Tick> kept;
  for (const double end : {interval.low, interval.high}) {
    if (axis.whole && !is_whole(end)) continue;
    Tick tick = {end, axis.is_time    ? duration_text(end)
                      : is_whole(end) ? number_text(end)
                                      : significant(end, 4)};
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

std::vector<Tick> ticks_at(std::span<const double> values) {
  std::vector<Tick> result;
  for (const double value : values) {
    const std::string text =
        value == std::trunc(value) && std::abs(value) < 1e15 ? decimals(value, 0) : str_cat(value);
    result.push_back({value, text == "-0" ? "0" : text});
  }
  return result;
}

}  // namespace tessera::pages
