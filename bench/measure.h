// How a case is timed, and all that is known of it afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/registry.h"

namespace tessera::bench {

struct Settings {
  double seconds = 0.4;  // of calls for each case, and as long for each of its peaks
  bool peaks = true;     // measured with each case
  double slow = 0;       // each timed call takes this fraction longer: a test of comparisons
};

/// One case, measured. Figures that are not known are 0, but for `memory_bytes`.
struct Result {
  std::string name;
  std::string by;
  std::string label;
  std::string failure;  // why there are no times: an error, or the result was wrong
  Cost cost;
  int threads = 0;
  std::string isa;

  index_t calls = 0;
  double best = 0, median = 0;  // seconds of a call
  double spread = 0;            // between the quartiles, over the median
  bool noisy = false;           // the median is more than a tenth above the best
  std::vector<double> samples;  // in order; of more than 64 calls the medians of 64 groups

  double error = 0;  // the largest, over the tolerance
  double peak_flops = 0, peak_bandwidth = 0;
  double ghz = 0;
  std::optional<index_t> memory_bytes;  // of tensors beyond inputs and result, while a call runs

  double flops_per_second() const { return cost.flops / best; }
  double bytes_per_second() const { return cost.bytes / best; }
};

/// Checks a case and times it. What it throws is the result's failure.
///
/// The calls of `settings.seconds` are timed one by one, five at least. The figure that measures the
/// code is the best of them; the median says what the machine's other tenants add. Half of each peak
/// is measured before the calls and half after them, so that a clock that slows down slows both.
Result measure(const Selected& selected, const Settings& settings);

}  // namespace tessera::bench
