// Results as a file of JSON, and as a table with fitting units.
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

/// The names of the table's columns.
std::string table_head();
/// A line of the table.
std::string table_row(const Result& result);

}  // namespace tessera::bench
