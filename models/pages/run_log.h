// The log of a training run: a line of numbers per step, as CSV.
//
//   step,epoch,loss,learning_rate,gradient_norm,tokens,seconds,accuracy,held_out_loss,held_out_accuracy
//   1,1,2.3,0.001,1.7,512,0.113,0.1,,
//   2,1,2.1,0.002,1.5,498,0.215,0.2,2.2,0.15
//
// A cell is empty if there is no value: most steps are not followed by an evaluation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera::pages {

/// A step of training, and the evaluation after it if there was one.
struct LoggedStep {
  index_t step = 0;   // from 1
  index_t epoch = 0;  // from 1; 0: not in the log
  double loss = 0;    // mean over the step's targets
  std::optional<double> learning_rate = {};
  std::optional<double> gradient_norm = {};  // before clipping
  std::optional<double> tokens = {};         // of the step
  std::optional<double> seconds = {};        // of training since the run began
  std::optional<double> accuracy = {};
  std::optional<double> held_out_loss = {};
  std::optional<double> held_out_accuracy = {};
};

/// The first line of a log.
inline constexpr std::string_view kRunLogHeader =
    "step,epoch,loss,learning_rate,gradient_norm,tokens,seconds,accuracy,held_out_loss,"
    "held_out_accuracy";

/// A step as a line of a log, with its end of line. Numbers have 6 significant digits, seconds 3
/// decimals.
std::string run_log_line(const LoggedStep& step);

/// The steps of a log with this text. Columns are found by their names, in any order: `step` and
/// `loss` are required, unknown columns are ignored. A last line without a line end is ignored: the
/// run is just writing this line, or was killed.
/// **Errors**, all of which name `file` and the line: no header, or one without `step` or `loss`; a
/// line whose number of cells differs from the header's; a cell that is not a number; a step or
/// epoch that is not an integer of at least 0; a step that is not above the previous step.
std::vector<LoggedStep> read_run_log(std::string_view text, const std::string& file);

/// A value of a run, and the step of this value.
struct AtStep {
  index_t step;
  double value;
};

/// The summary of a whole run. NaN is never the best value.
struct RunSummary {
  index_t steps = 0;  // the last step
  index_t epochs = 0;
  std::optional<AtStep> last_loss, best_loss;
  std::optional<AtStep> last_held_out, best_held_out;
  std::optional<AtStep> last_accuracy, best_accuracy;  // on held-out examples, if there are any
  std::optional<double> seconds;
  std::optional<double> tokens_per_second;
};
/// The summary of the steps of a log.
RunSummary summary_of(std::span<const LoggedStep> steps);

/// The seconds at each step since the run began. If the seconds of the log begin again, because the
/// run was resumed, the seconds returned here continue.
std::vector<double> elapsed(std::span<const LoggedStep> steps);

}  // namespace tessera::pages
