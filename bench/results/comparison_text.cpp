// How a comparison is written: for terminals and as JSON.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/results/comparison.h"
#include "bench/results/units.h"
#include "models/pages/numbers.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

const char* word(Change change) {
  if (change == Change::kSlower) return "slower";
  return change == Change::kFaster ? "faster" : "same";
}

std::string percent_of(double fraction) {
  return (fraction < 0 ? "" : "+") + pages::decimals(fraction * 100, 1) + " %";
}

std::string padded(std::string text, std::size_t width, bool left = false) {
  const std::string blanks(width > text.size() ? width - text.size() : 0, ' ');
  return left ? text + blanks : blanks + text;
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
  text +=
      str_cat(" (by more than ", pages::decimals(c.options.least * 100, 1),
              " %; wrong at most once in ", std::lround(1 / c.options.alpha), " comparisons)\n");
  if (c.few_runs) {
    text +=
        "Less than 5 runs a side: smaller changes are lost in how runs differ. --run finds them.\n";
  }
  return text;
}

}  // namespace

std::string table(const Comparison& comparison) {
  std::vector<const Compared*> order;
  std::size_t width = 4;
  for (const Compared& c : comparison.cases) {
    order.push_back(&c);
    width = std::max(width, c.runs.name.size());
  }
  const auto rank = [](const Compared* c) {
    return c->verdict == Change::kSlower ? 0 : c->verdict == Change::kFaster ? 1 : 2;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const Compared* a, const Compared* b) { return rank(a) < rank(b); });
  std::string text = padded("case", width, true) + "  by        threads        old        new" +
                     "   change   chance  verdict\n";
  for (const Compared* c : order) {
    const double p = c->change > 0 ? c->p_slower : c->p_faster;
    text += padded(c->runs.name, width, true) + "  " + padded(c->runs.by, 9, true) +
            padded(str_cat(c->runs.threads), 8) + padded(seconds_text(c->old_s), 11) +
            padded(seconds_text(c->new_s), 11) + padded(percent_of(c->change), 9) +
            padded(p < 1e-4 ? "< 0.0001" : pages::decimals(p, 4), 9) + "  " + word(c->verdict) +
            "\n";
  }
  return text + summary(comparison);
}

std::string json(const Comparison& comparison) {
  std::string cases;
  for (const Compared& c : comparison.cases) {
    cases += str_cat(cases.empty() ? "" : ",\n", "{\"name\":", json_quoted(c.runs.name),
                     ",\"by\":", json_quoted(c.runs.by), ",\"threads\":", c.runs.threads,
                     ",\"runs\":[", c.runs.old_s.size(), ",", c.runs.new_s.size(),
                     "],\"old_s\":", c.old_s, ",\"new_s\":", c.new_s, ",\"change\":", c.change,
                     ",\"of_peak\":", c.by_peak ? "true" : "false", ",\"p_slower\":", c.p_slower,
                     ",\"p_faster\":", c.p_faster, ",\"verdict\":\"", word(c.verdict), "\"}");
  }
  return str_cat("{\"alpha\":", comparison.options.alpha, ",\"least\":", comparison.options.least,
                 ",\"slower\":", comparison.slower() ? "true" : "false", ",\"cases\":[\n", cases,
                 "\n]}\n");
}

}  // namespace tessera::results
