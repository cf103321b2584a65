#include "bench/results/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "bench/results/units.h"
#include "tessera/models/pages/ranks.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"

namespace tessera::results {

namespace {

using Key = std::tuple<std::string, std::string, index_t>;

Compared compared(CaseRounds rounds, const CompareOptions& options) {
  require(rounds.old_s.size() == rounds.new_s.size(), "compare_rounds", rounds.name,
          ": both sides must have the same number of times, got ", rounds.old_s.size(), " old, ",
          rounds.new_s.size(), " new");
  const double least = std::log1p(options.least);
  std::vector<double> differences, slower, faster;
  for (std::size_t i = 0; i < rounds.old_s.size(); ++i) {
    differences.push_back(std::log(rounds.new_s[i]) - std::log(rounds.old_s[i]));
    slower.push_back(differences.back() - least);
    faster.push_back(-differences.back() - least);
  }
  return {.rounds = std::move(rounds),
          .change = std::expm1(pages::hodges_lehmann(differences)),
          .p_slower = pages::wilcoxon_signed_rank_greater(slower),
          .p_faster = pages::wilcoxon_signed_rank_greater(faster)};
}

/// Corrects for the number of cases, and decides.
void decide(Comparison& comparison) {
  std::vector<double> slower;
  std::vector<double> faster;
  for (const Compared& c : comparison.cases) {
    slower.push_back(c.p_slower);
    faster.push_back(c.p_faster);
  }
  slower = pages::holm(slower);
  faster = pages::holm(faster);
  const double alpha = comparison.options.alpha;
  for (std::size_t i = 0; i < slower.size(); ++i) {
    Compared& c = comparison.cases[i];
    c.p_slower = slower[i];
    c.p_faster = faster[i];
    if (slower[i] < alpha) c.verdict = Change::kSlower;
    if (faster[i] < alpha) c.verdict = Change::kFaster;
  }
}

const char* word(Change change) {
  if (change == Change::kSlower) return "slower";
  return change == Change::kFaster ? "faster" : "same";
}

std::string percent_of(double fraction) {
  return (fraction < 0 ? "" : "+") + decimals(fraction * 100, 1) + " %";
}

std::string summary(const Comparison& c) {
  const auto count = [&](Change change) {
    return std::count_if(c.cases.begin(), c.cases.end(),
                         [&](const Compared& x) { return x.verdict == change; });
  };
  std::string text = str_cat(count(Change::kSlower), " slower, ", count(Change::kFaster),
                             " faster, ", count(Change::kSame), " the same within the noise");
  if (!c.only_old.empty()) text += str_cat(", ", c.only_old.size(), " only in the old");
  if (!c.only_new.empty()) text += str_cat(", ", c.only_new.size(), " only in the new");
  return text + str_cat(" (by more than ", decimals(c.options.least * 100, 1),
                        " %; wrong at most once in ", std::lround(1 / c.options.alpha),
                        " comparisons)\n");
}

}  // namespace

bool Comparison::slower() const {
  return std::any_of(cases.begin(), cases.end(),
                     [](const Compared& c) { return c.verdict == Change::kSlower; });
}

Comparison compare_rounds(std::vector<CaseRounds> cases, const CompareOptions& options) {
  Comparison comparison{.options = options};
  for (CaseRounds& rounds : cases) comparison.cases.push_back(compared(std::move(rounds), options));
  decide(comparison);
  return comparison;
}

Comparison compare_rounds(const std::vector<Results>& before, const std::vector<Results>& after,
                          const CompareOptions& options) {
  std::vector<Key> order;
  std::map<Key, CaseRounds> found;
  const auto add = [&](const std::vector<Results>& files, std::vector<double> CaseRounds::*times) {
    for (const Results& file : files) {
      for (const Result& result : file.cases) {
        const Key key = {result.name, result.by, result.threads};
        const auto [place, is_new] =
            found.try_emplace(key, CaseRounds{result.name, result.by, result.threads});
        if (is_new) order.push_back(key);
        (place->second.*times).push_back(result.best_s);
      }
    }
  };
  add(before, &CaseRounds::old_s);
  add(after, &CaseRounds::new_s);
  std::vector<CaseRounds> cases;
  std::vector<std::string> only_old, only_new;
  for (const Key& key : order) {
    CaseRounds& rounds = found.at(key);
    if (rounds.new_s.empty()) {
      only_old.push_back(rounds.name);
    } else if (rounds.old_s.empty()) {
      only_new.push_back(rounds.name);
    } else {
      cases.push_back(std::move(rounds));
    }
  }
  if (cases.empty()) {
    fail_file(after.front().file, "must have at least 1 case of ", before.front().file,
              ", got none");
  }
  Comparison comparison = compare_rounds(std::move(cases), options);
  comparison.only_old = std::move(only_old);
  comparison.only_new = std::move(only_new);
  return comparison;
}

index_t least_rounds(index_t cases, const CompareOptions& options) {
  return static_cast<index_t>(std::floor(std::log2(static_cast<double>(cases) / options.alpha)) +
                              1);
}

std::string table(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows = {
      {"case", "by", "threads", "old", "new", "change", "chance", "verdict"}};
  for (const Change verdict : {Change::kSlower, Change::kFaster, Change::kSame}) {
    for (const Compared& c : comparison.cases) {
      if (c.verdict != verdict) continue;
      const double p = c.change > 0 ? c.p_slower : c.p_faster;
      rows.push_back({c.rounds.name, c.rounds.by, str_cat(c.rounds.threads),
                      seconds_text(pages::median(c.rounds.old_s)),
                      seconds_text(pages::median(c.rounds.new_s)), percent_of(c.change),
                      p < 1e-4 ? "< 0.0001" : decimals(p, 4), word(verdict)});
    }
  }
  return in_columns(rows, 2) + summary(comparison);
}

}  // namespace tessera::results
