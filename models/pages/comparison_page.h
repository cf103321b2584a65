// The comparison of several training runs: tables, and a page with the curves of all runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/models/pages/page.h"
#include "tessera/models/pages/run_log.h"

namespace tessera::pages {

/// A table of texts: a row of column names, then the rows.
using Rows = std::vector<std::vector<std::string>>;

/// A run and its log.
struct NamedRun {
  std::string name;
  std::vector<LoggedStep> steps = {};
  std::string setting = {};  // runs of one setting have the same colour; empty: its own colour
  std::string seed = {};     // in all settings, runs with this seed have the same dash pattern
  std::string page = {};     // address of the run's report; empty: none
};

/// A run with the setting and seed that are in its name: the seed is the part `seed=N` of the file
/// name, and the setting is the rest of the name. Commas separate the parts: `runs/lr=1e-3,seed=2`
/// has the setting `runs/lr=1e-3`, and `runs/seed=2` has the setting `runs`. A name without
/// `seed=N` gives neither.
NamedRun named_run(const std::string& name, std::vector<LoggedStep> steps);

/// Columns for a terminal: the first is aligned to the left, the others to the right. An empty cell
/// is shown as "-". No row may have more cells than the first.
std::string table_text(Rows rows);

/// A row for each run with its steps, losses, accuracy, speed and time.
Rows comparison_rows(std::span<const NamedRun> runs);

/// A row for each setting: the number of its runs, and mean and standard deviation of a measure, at
/// the step with the smallest held-out loss or, without evaluations, at the last step. The measure
/// is the first of these that all runs have there: held-out accuracy, held-out loss, accuracy,
/// loss. Each later setting is compared with the first one, by pairs of runs with the same seed:
/// the mean difference; p, the two-sided p-value of the signed-rank test
/// (wilcoxon_signed_rank_greater); and p corrected for the number of comparisons (holm). The
/// smallest possible p of n seeds is 2 / 2^n: 5 seeds give 0.0625, 6 seeds 0.03125. A setting is
/// not compared if it has no pairs, or if a difference is NaN. Runs without a setting are omitted;
/// without any setting, there are no rows.
Rows setting_rows(std::span<const NamedRun> runs);

/// A page with setting_rows, comparison_rows, and a chart of all runs for each quantity.
Page comparison_page(std::span<const NamedRun> runs);

}  // namespace tessera::pages
