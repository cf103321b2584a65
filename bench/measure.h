// How a case is timed.
#pragma once

#include "bench/registry.h"
#include "bench/results/results.h"

namespace tessera::bench {

struct Settings {
  double seconds = 0.4;  // of calls for each case, and as long for each of its peaks
  bool peaks = true;     // measured with each case
  double slow = 0;       // each timed call takes this fraction longer: a test of comparisons
};

using results::Result;

/// Checks a case and times it. What it throws is the result's failure.
///
/// The calls of `settings.seconds` are timed one by one, five at least. The figure that measures the
/// code is the best of them; the median says what the machine's other tenants add. Half of each peak
/// is measured before the calls and half after them, so that a clock that slows down slows both.
Result measure(const Selected& selected, const Settings& settings);

}  // namespace tessera::bench
