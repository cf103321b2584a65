// Results as a file of JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/measure.h"

namespace tessera::bench {

/// All results of a run.
struct Run {
  JsonObject machine = machine_json();
  std::vector<Result> results = {};
  std::vector<results::Bandwidth> bandwidths = {};
};

/// `{"machine": {...}, "cases": [...], "bandwidth": [...]}`. Values that are unknown or not finite
/// are omitted.
std::string to_json(const Run& run);

}  // namespace tessera::bench
