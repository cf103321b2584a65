// Runs a training with different options and seeds, and makes one table of the results.
//
//   const runs::SweepEnding end = runs::run_sweep(
//       {.folder = "sweep", .axes = {{"lr", {"1e-4", "3e-4"}}}, .seeds = {0, 1, 2}},
//       [&](const runs::SweepRun& run) {
//         manual_seed(run.seed);
//         Model model(...);
//         nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = run.number("lr")});
//         nn::Trainer trainer(model, optimizer, train, {.seed = run.seed}, held_out);
//         return runs::Run(trainer, runs::in_folder(run.folder)).train();
//       });
//   std::cout << end.text;
//   return end.exit_code();
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "models/pages/training_page.h"
#include "models/runs/run.h"
#include "models/runs/sweep_plan.h"
#include "models/runs/sweep_table.h"

namespace tessera::runs {

/// The options of a sweep.
struct SweepOptions {
  std::filesystem::path folder;      // holds the folders of all runs, and the sweep's files
  std::vector<SweepAxis> axes = {};  // their first values are the setting to compare with
  std::vector<std::uint64_t> seeds = {0};
  /// 0: one run after the other in this process. Otherwise the number of processes at a time, with
  /// one thread each: children of fork(), whose output is appended to `output.txt` in the run's
  /// folder.
  index_t jobs = 0;
  std::string program = {};  // children write this name before errors; SweepEnding::error omits it
  pages::Facts facts = {};   // the options of all runs: a sweep continues only with the same facts
  bool overwrite = false;    // start again from nothing
};

/// Functions that a sweep calls.
struct SweepCallbacks {
  /// Before a run.
  std::function<void(const SweepRun&)> begin = {};
  /// After the result is saved, with the number of runs that have a result.
  std::function<void(const SweepResult&, std::size_t finished, std::size_t runs)> end = {};
  /// After a run that has failed, with the text of its error.
  std::function<void(const SweepRun&, const std::string& error)> failure = {};
};

/// The end of a call of a sweep.
struct SweepEnding {
  bool is_finished = false;  // all runs have a result
  int signal = 0;            // the signal that stopped the sweep; 0: none
  std::string text = {};     // the table, or the number of finished runs and how to continue
  std::string error = {};    // the number of failed runs, and the first error; empty: none

  /// The exit code for main(): 128 + the signal; 2 after a run that has failed; else 0.
  int exit_code() const { return signal > 0 ? 128 + signal : error.empty() ? 0 : 2; }
};

/// Calls `train` for each run without a result, in the order of plan_runs(). If the Ending that
/// `train` returns is_stopped(), the sweep stops, and the next call continues with that run. If
/// `train` throws, the sweep goes on with the other runs, and the next call repeats the failed run.
/// `train` must write the run's files in run.folder, under the names of in_folder().
///
/// The sweep's folder has `runs.csv`, a row for each result, and `options.csv`, the facts of the
/// sweep; at the end also `sweep.csv`, the table of setting_rows(), and `sweep.html` with the
/// curves of all runs. The folder of a run with a result has an empty file `finished`.
/// **Errors**: as plan_runs; a folder that has a sweep with different facts, or is in use; a folder
/// or file that cannot be written; a finished run for which result_of() throws, or whose measure
/// differs from that of the other runs; exceptions of `callbacks`. Errors of `train` are not
/// thrown: SweepEnding::error has the first; with `jobs`, it has the last line of the run's output.
SweepEnding run_sweep(const SweepOptions& options,
                      const std::function<Ending(const SweepRun&)>& train,
                      const SweepCallbacks& callbacks = {});

}  // namespace tessera::runs
