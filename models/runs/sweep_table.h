// The results of a sweep's runs, and the comparison of its settings over several seeds.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "models/pages/rows.h"
#include "models/runs/sweep_plan.h"
#include "tensor/kernels/types.h"

namespace tessera::runs {

/// The result of a run: its quality at the best evaluation or, without evaluations, at the last
/// step.
struct SweepResult {
  SweepRun run;
  index_t steps = 0;                      // of the run
  std::optional<index_t> best_step = {};  // of the best evaluation, if there was one
  std::string measure = {};               // a column of the log: "held_out_accuracy"
  double value = 0;                       // of the measure, at best_step or the last step
};

/// The result of a run that has ended, from the log and the checkpoint in its folder: accuracy or
/// loss of the best evaluation or, without evaluations, of the last batch.
/// **Errors**: std::runtime_error: a file is missing or malformed; the log has no step, or not the
/// best step.
SweepResult result_of(const SweepRun& run);

/// A row for each run: its values, its seed, its steps, the best step, and its measure.
pages::Rows result_rows(std::span<const SweepResult> results);

/// A row for each setting, a combination of the values of all axes: its values, the number of its
/// runs, mean and standard deviation of the measure. Each later setting is compared with the first
/// one, by pairs of runs with the same seed: the mean difference; p, the two-sided p-value of the
/// signed-rank test (pages::wilcoxon_signed_rank); and p corrected for the number of comparisons
/// (pages::holm). The smallest possible p of n seeds is 2 / 2^n: 5 seeds give 0.0625, 6 seeds
/// 0.03125. A setting is not compared if it has no pairs, or if a difference is NaN.
pages::Rows setting_rows(std::span<const SweepResult> results);

}  // namespace tessera::runs
