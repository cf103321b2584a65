// The changes between two versions, beyond the noise.
//
// Both versions are measured in turn, old new new old .... A disturbance of the machine affects
// both times of a round, so only the differences within rounds are used. A case is slower if its
// time has grown by more than `least`; the probability that any case of unchanged code is called
// slower is below `alpha` (ranks.h: Wilcoxon, Holm).
#pragma once

#include <string>
#include <vector>

#include "bench/results/results.h"

namespace tessera::results {

struct CompareOptions {
  double alpha = 0.003;
  double least = 0.005;  // as a fraction of the old time
};

/// The best times of a case in each round: old_s[i] and new_s[i] were measured one after the other.
struct CaseRounds {
  std::string name = {};
  std::string by = {};
  index_t threads = 0;
  std::vector<double> old_s = {}, new_s = {};
};

enum class Change { kSame, kSlower, kFaster };

struct Compared {
  CaseRounds rounds;
  double change = 0;    // new / old - 1
  double p_slower = 1;  // corrected for the number of cases
  double p_faster = 1;
  Change verdict = Change::kSame;
};

struct Comparison {
  CompareOptions options;
  std::vector<Compared> cases = {};
  std::vector<std::string> only_old = {}, only_new = {};

  bool slower() const;
};

/// **Errors**: a case with different numbers of old and new times.
Comparison compare_rounds(std::vector<CaseRounds> cases, const CompareOptions& options = {});
/// The cases of both sides, by name, program and threads: before[i] and after[i] are round i.
/// **Errors**: std::runtime_error, no case is in both.
Comparison compare_rounds(const std::vector<Results>& before, const std::vector<Results>& after,
                          const CompareOptions& options = {});

/// The minimum number of rounds for which a change in this number of cases can be significant.
index_t least_rounds(index_t cases, const CompareOptions& options);

/// A table for terminals, the changed cases first, and a line with the totals.
std::string table(const Comparison& comparison);

}  // namespace tessera::results
