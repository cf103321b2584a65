// The timing of a case.
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

/// Checks a case and times it. The text of an exception is the result's failure.
///
/// The calls of `settings.seconds` are timed one by one, at least five. The best of them measures
/// the code; the median includes disturbances by other programs. Half of each peak is measured
/// before the calls and half after them, so that a slower clock affects both.
Result measure(const Selected& selected, const Settings& settings);

}  // namespace tessera::bench
