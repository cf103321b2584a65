// Google Benchmark for our cases: its flags and formats, our names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/registry.h"

namespace tessera::bench {

/// The values of `--benchmark_...` on the command line.
struct EngineFlags {
  std::string filter;       // --benchmark_filter
  bool list = false;        // --benchmark_list_tests
  bool own_format = false;  // --benchmark_format: it prints instead of our table
  bool json_file = false;   // --benchmark_out, as JSON
  std::string min_time;     // --benchmark_min_time
};

/// The seconds of a --benchmark_min_time: "0.5" or "0.5s". **Errors**: std::invalid_argument.
double seconds_of(const std::string& min_time);

/// Removes the engine's flags from the command line and passes them to the engine.
EngineFlags take_engine_flags(int& argc, char** argv);

/// Measures the cases, one after the other; calls `done` with each result.
void run_engine(const std::vector<Selected>& cases, const Settings& settings,
                const EngineFlags& flags, const std::function<void(Result)>& done);

}  // namespace tessera::bench
