// What changed between two versions, beyond the noise.
//
// A case is slower if it is so by more than `least`, at a probability of less than `alpha` that any
// case of unchanged code is called so (ranks.h, Holm). Two kinds of data:
//
// * Rounds: both versions measured in turn, old new new old .... What slows the machine slows both
//   times of a round, so only the differences within rounds count (Wilcoxon's signed ranks).
// * Sets of runs, measured at any times (Mann and Whitney).
//
// Each time is taken as seconds and in units of the peak measured with it, which follows the
// clock; of the two the one that scatters less decides.
#pragma once

#include <string>
#include <vector>

#include "bench/results/results.h"

namespace tessera::results {

struct CompareOptions {
  double alpha = 0.003;
  double least = 0.005;  // as a fraction of the old time
};

/// The best times of a case, one per run, and the peaks of each (0 if there are none).
struct CaseRuns {
  std::string name = {};
  std::string by = {};
  index_t threads = 0;
  bool flops_bound = true;  // whether the peak is of FLOP/s or of bytes/s
  std::vector<double> old_s = {}, new_s = {}, old_peak = {}, new_peak = {};
};

enum class Change { kSame, kSlower, kFaster };

struct Compared {
  CaseRuns runs;
  double old_s = 0;  // medians
  double new_s = 0;
  double change = 0;     // new / old - 1, by the decisive measure
  bool by_peak = false;  // whether that is the one in units of the peak
  double p_slower = 1;   // corrected for the number of cases
  double p_faster = 1;
  Change verdict = Change::kSame;
};

struct Comparison {
  CompareOptions options;  // as they were applied
  bool few_runs = false;   // see compare_files
  std::vector<Compared> cases = {};
  std::vector<std::string> only_old = {}, only_new = {};

  bool slower() const;
};

/// Rounds: old_s[i] and new_s[i] were measured one after the other.
Comparison compare_rounds(std::vector<CaseRuns> cases, const CompareOptions& options = {});
/// Sets of runs in no order.
Comparison compare_sets(std::vector<CaseRuns> cases, const CompareOptions& options = {});

/// The cases of both sides, by name, program and threads. `paired`: file i of one side was measured
/// beside file i of the other.
///
/// With less than 5 files a side the samples within each case stand in for runs, 8 bests of
/// consecutive samples. They do not show how processes and hours differ, so that only changes beyond
/// 10 % count then.
/// **Errors**: std::runtime_error, no case is in both.
Comparison compare_files(const std::vector<Results>& before, const std::vector<Results>& after,
                         bool paired, const CompareOptions& options = {});

/// How many rounds it takes at least until so many cases can show anything.
index_t least_rounds(index_t cases, const CompareOptions& options);

/// A table for terminals, the changed cases first, and one line that sums up.
std::string table(const Comparison& comparison);
/// The same as JSON.
std::string json(const Comparison& comparison);

}  // namespace tessera::results
