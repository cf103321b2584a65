// Two commands of tessera_bench, run in turn.
#pragma once

#include <string>
#include <vector>

#include "bench/results/comparison.h"

namespace tessera::results {

struct RoundOptions {
  std::string cases;   // a file of names
  std::string filter;  // a regular expression for names
  index_t rounds = 100;
  double seconds = 0.03;  // of calls for each case, side and round
  index_t threads = 0;    // of the sides; 0: as OMP_NUM_THREADS says, one where it is not set
};

/// Runs `sides[0]` and `sides[1]` in the order 0 1 1 0 0 1 1 0 ..., each a fresh process, and
/// compares the best calls of the rounds. A side is a command line of the shell, so that
/// `env NAME=VALUE PROGRAM` works too. Progress goes to standard error.
///
/// Many short rounds beat few long ones: what other programs do to the machine lasts for seconds,
/// and where a process has its pages moves its times by a percent for as long as it lives. So the
/// sides measure no peaks, which would take longer than the calls.
/// **Errors**: std::runtime_error, a command fails or writes no JSON; std::invalid_argument, not two
/// sides, neither names nor a filter, or too few rounds for the number of cases.
Comparison run_rounds(const std::vector<std::string>& sides, const RoundOptions& rounds,
                      const CompareOptions& options);

}  // namespace tessera::results
