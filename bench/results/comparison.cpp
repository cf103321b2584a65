#include "bench/results/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "bench/results/ranks.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

constexpr std::size_t kRuns = 5;     // so many files a side are runs of their own
constexpr std::size_t kBlocks = 8;   // the samples of fewer are cut into so many
constexpr double kDriftOfOne = 0.1;  // what two runs of equal code may differ by

using Key = std::tuple<std::string, std::string, index_t>;

std::vector<double> logs(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values) result.push_back(std::log(value));
  return result;
}

/// log(time) or, with the peaks, log(time * peak).
std::vector<double> measure(const std::vector<double>& seconds, const std::vector<double>& peak,
                            bool by_peak) {
  std::vector<double> result = logs(seconds);
  if (by_peak) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += std::log(peak[i]);
  }
  return result;
}

bool has_peaks(const CaseRuns& runs) {
  const auto above_zero = [](double peak) { return peak > 0; };
  return runs.old_peak.size() == runs.old_s.size() && runs.new_peak.size() == runs.new_s.size() &&
         std::all_of(runs.old_peak.begin(), runs.old_peak.end(), above_zero) &&
         std::all_of(runs.new_peak.begin(), runs.new_peak.end(), above_zero);
}

std::vector<double> differences(const CaseRuns& runs, bool by_peak) {
  const std::vector<double> before = measure(runs.old_s, runs.old_peak, by_peak);
  std::vector<double> result = measure(runs.new_s, runs.new_peak, by_peak);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] -= before[i];
  return result;
}

std::vector<double> moved(std::vector<double> values, double by) {
  for (double& value : values) value += by;
  return values;
}

std::vector<double> negated(std::vector<double> values) {
  for (double& value : values) value = -value;
  return values;
}

Compared compared(CaseRuns runs) {
  const double old_s = median(runs.old_s);
  const double new_s = median(runs.new_s);
  return {.runs = std::move(runs), .old_s = old_s, .new_s = new_s};
}

Compared compare_in_rounds(CaseRuns runs, const CompareOptions& options) {
  require(runs.old_s.size() == runs.new_s.size(), "compare_rounds", runs.name,
          ": both sides must have the same number of times, got ", runs.old_s.size(), " old, ",
          runs.new_s.size(), " new");
  Compared result = compared(std::move(runs));
  std::vector<double> d = differences(result.runs, false);
  if (has_peaks(result.runs)) {
    std::vector<double> of_peak = differences(result.runs, true);
    result.by_peak = median_deviation(of_peak) < median_deviation(d);
    if (result.by_peak) d = std::move(of_peak);
  }
  const double least = std::log1p(options.least);
  result.change = std::expm1(middle(d));
  result.p_slower = signed_rank(moved(d, -least));
  result.p_faster = signed_rank(moved(negated(d), -least));
  return result;
}

Compared compare_as_sets(CaseRuns runs, const CompareOptions& options) {
  Compared result = compared(std::move(runs));
  const CaseRuns& r = result.runs;
  std::vector<double> before = measure(r.old_s, {}, false);
  std::vector<double> after = measure(r.new_s, {}, false);
  if (has_peaks(r)) {
    std::vector<double> before_of_peak = measure(r.old_s, r.old_peak, true);
    std::vector<double> after_of_peak = measure(r.new_s, r.new_peak, true);
    result.by_peak = median_deviation(before_of_peak) + median_deviation(after_of_peak) <
                     median_deviation(before) + median_deviation(after);
    if (result.by_peak) {
      before = std::move(before_of_peak);
      after = std::move(after_of_peak);
    }
  }
  const double least = std::log1p(options.least);
  result.change = std::expm1(shift(before, after));
  result.p_slower = mann_whitney(before, moved(after, -least));
  result.p_faster = mann_whitney(after, moved(before, -least));
  return result;
}

/// Corrects for the number of cases, and decides.
void decide(Comparison& comparison) {
  std::vector<double> slower;
  std::vector<double> faster;
  for (const Compared& c : comparison.cases) {
    slower.push_back(c.p_slower);
    faster.push_back(c.p_faster);
  }
  slower = holm(slower);
  faster = holm(faster);
  const double alpha = comparison.options.alpha;
  for (std::size_t i = 0; i < slower.size(); ++i) {
    Compared& c = comparison.cases[i];
    c.p_slower = slower[i];
    c.p_faster = faster[i];
    if (slower[i] < alpha) c.verdict = Change::kSlower;
    if (faster[i] < alpha) c.verdict = Change::kFaster;
  }
}

template <class One>
Comparison compare(std::vector<CaseRuns> cases, const CompareOptions& options, const One& one) {
  Comparison comparison{.options = options};
  for (CaseRuns& runs : cases) {
    Compared result = one(std::move(runs), options);
    comparison.cases.push_back(std::move(result));
  }
  decide(comparison);
  return comparison;
}

/// The best of each of `kBlocks` groups of samples that follow each other.
std::vector<double> block_bests(const std::vector<double>& samples) {
  const std::size_t blocks = std::min(kBlocks, samples.size());
  std::vector<double> bests;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto at = [&](std::size_t i) {
      return samples.begin() + static_cast<std::ptrdiff_t>(i * samples.size() / blocks);
    };
    bests.push_back(*std::min_element(at(b), at(b + 1)));
  }
  return bests;
}

void add_run(CaseRuns& runs, const Result& result, bool is_new, bool in_blocks) {
  std::vector<double>& times = is_new ? runs.new_s : runs.old_s;
  std::vector<double>& peaks = is_new ? runs.new_peak : runs.old_peak;
  const double peak = result.flops > 0 ? result.peak_flops : result.peak_bytes_s;
  const std::vector<double> values = in_blocks && !result.samples_s.empty()
                                         ? block_bests(result.samples_s)
                                         : std::vector<double>{result.best_s};
  for (const double value : values) {
    times.push_back(value);
    peaks.push_back(peak);
  }
}

}  // namespace

bool Comparison::slower() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const Compared& c) { return c.verdict == Change::kSlower; });
}

Comparison compare_rounds(std::vector<CaseRuns> cases, const CompareOptions& options) {
  return compare(std::move(cases), options, compare_in_rounds);
}

Comparison compare_sets(std::vector<CaseRuns> cases, const CompareOptions& options) {
  return compare(std::move(cases), options, compare_as_sets);
}

Comparison compare_files(const std::vector<Results>& before, const std::vector<Results>& after,
                         bool paired, const CompareOptions& options) {
  const bool few = std::min(before.size(), after.size()) < kRuns;
  std::vector<Key> order;
  std::map<Key, CaseRuns> found;
  const auto add = [&](const std::vector<Results>& files, bool is_new) {
    for (const Results& file : files) {
      for (const Result& result : file.cases) {
        const Key key = {result.name, result.by, result.threads};
        const auto [place, first] = found.try_emplace(key);
        if (first) {
          order.push_back(key);
          place->second.name = result.name;
          place->second.by = result.by;
          place->second.threads = result.threads;
          place->second.flops_bound = result.flops > 0;
        }
        add_run(place->second, result, is_new, few);
      }
    }
  };
  add(before, false);
  add(after, true);
  std::vector<CaseRuns> cases;
  Comparison missing;
  for (const Key& key : order) {
    CaseRuns& runs = found.at(key);
    if (runs.new_s.empty()) {
      missing.only_old.push_back(runs.name);
    } else if (runs.old_s.empty()) {
      missing.only_new.push_back(runs.name);
    } else {
      cases.push_back(std::move(runs));
    }
  }
  if (cases.empty())
    fail_file(after.front().file, "must have at least 1 case of ", before.front().file,
              ", got none");
  CompareOptions applied = options;
  if (few) applied.least = std::max(applied.least, kDriftOfOne);
  Comparison comparison = paired && !few ? compare_rounds(std::move(cases), applied)
                                         : compare_sets(std::move(cases), applied);
  comparison.few_runs = few;
  comparison.only_old = std::move(missing.only_old);
  comparison.only_new = std::move(missing.only_new);
  return comparison;
}

index_t least_rounds(index_t cases, const CompareOptions& options) {
  return static_cast<index_t>(std::floor(std::log2(static_cast<double>(cases) / options.alpha)) +
                              1);
}

}  // namespace tessera::results
