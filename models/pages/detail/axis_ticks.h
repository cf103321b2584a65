// The ends of an axis of a chart, and its numbers. Private.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/models/pages/chart.h"

namespace tessera::pages {

/// The values between which an axis is drawn; `low < high`, and `low > 0` on a logarithmic one.
struct Interval {
  double low;
  double high;
};

/// Whether a value has a place on an axis with this scale: its absolute value must be below 1e300
/// and, on a logarithmic axis, the value must be above 1e-300.
bool is_drawable(double value, Scale scale);

/// Where `value` lies between the ends of the axis: 0 is `low`, 1 is `high`.
double position(double value, const Interval& interval, Scale scale);

/// An interval that holds all drawable values and is never empty; [0, 1] (logarithmic: [1, 10]) if
/// no value is drawable.
Interval interval_of(std::span<const double> values, Scale scale);

/// The interval with its ends moved outwards to round numbers, which have ticks.
Interval rounded(const Interval& interval, Scale scale, int most);

/// At most `most` (at least 2) round numbers of the interval, in rising order: multiples of 1, 2 or
/// 5 times a power of 10. A logarithmic axis has powers of 10, and 2 and 5 times these if there is
/// room; if the axis is too short for them, it has the numbers of a linear axis.
std::vector<double> ticks(const Interval& interval, Scale scale, int most);

}  // namespace tessera::pages
