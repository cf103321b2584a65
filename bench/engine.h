// Google Benchmark around our cases: its flags, its formats, our names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/registry.h"

namespace tessera::bench {

/// What `--benchmark_...` on the command line asked for.
struct EngineFlags {
  std::string filter;       // --benchmark_filter
  bool list = false;        // --benchmark_list_tests
  bool own_format = false;  // --benchmark_format: it prints, and not our table
  bool json_file = false;   // --benchmark_out, as JSON
  std::string min_time;     // --benchmark_min_time
};

/// The seconds of a --benchmark_min_time: "0.5" or "0.5s". **Errors**: std::invalid_argument.
double seconds_of(const std::string& min_time);

/// Takes the engine's flags out of the command line and hands them to it.
EngineFlags take_engine_flags(int& argc, char** argv);

/// Measures the cases, one after the other; `done` sees each result as it comes.
void run_engine(const std::vector<Selected>& cases, const Settings& settings,
                const EngineFlags& flags, const std::function<void(Result)>& done);

}  // namespace tessera::bench
