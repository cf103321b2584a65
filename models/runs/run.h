// A training run and its files: a checkpoint, a log, a page. A call continues the run that an
// earlier call has saved. Ctrl-C stops the run after it has saved.
//
//   nn::Trainer trainer(model, optimizer, train, {.epochs = 10, .patience = 2}, held_out);
//   runs::Run run(trainer, runs::in_folder("run"));
//   const runs::RunResult ending = run.train();
//   if (ending.is_stopped()) std::cout << ending.text << '\n';  // "stopped after step 12; ..."
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "tessera/models/pages/run_log.h"
#include "tessera/models/pages/training_page.h"
#include "tessera/nn/training/checkpoint.h"
#include "tessera/nn/training/trainer.h"
#include "tessera/tensor/io/file.h"

namespace tessera::runs {

/// The names of a run's files in its folder.
inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";
inline constexpr const char* kLogFile = "log.csv";
inline constexpr const char* kReportFile = "report.html";

/// The options of a run.
struct RunOptions {
  std::filesystem::path folder = {};  // of the checkpoint; empty: nothing is saved
  // CSV, a line per step (pages/run_log.h); empty: kLogFile in the folder, if there is one
  std::filesystem::path log = {};
  std::filesystem::path report = {};  // HTML, replaced as the run goes on; empty: none
  index_t max_steps = 0;              // the most steps of this call; 0: no limit
  bool has_accuracy = true;           // whether the log has accuracies; false for regression
  nn::Checkpoint notes = {};          // its values, not its tensors, are added to each checkpoint
  /// Title, identity, options and machine of the page.
  pages::TrainingReport page = {};

  /// The hint for continuing, in messages.
  std::string cure = "start it again to continue";
  /// Whether the caller has locked the folder. If so, the run does not read the checkpoint in the
  /// folder: it continues `resumed` or, if `resumed` is null, begins anew.
  bool owns_folder = false;
  std::shared_ptr<const FileLock> lock = {};  // kept until the run ends; only rank 0 has one
  const nn::Checkpoint* resumed = nullptr;    // continued instead of the checkpoint in the folder
};

/// Options with the three files of a run in one folder.
RunOptions in_folder(const std::filesystem::path& folder);

/// The end of a call.
struct RunResult {
  nn::StopReason reason = nn::StopReason::kFinished;
  int signal = 0;         // the signal that stopped the run; 0: none
  std::string text = {};  // why the last step was not reached, and how to continue; else empty

  /// Whether a signal or a callback stopped the run before its end.
  bool is_stopped() const { return reason == nn::StopReason::kStopped; }
  /// The exit code for main(): 128 + the signal, as in a shell, else 0.
  int exit_code() const { return signal > 0 ? 128 + signal : 0; }
};

class ReportFile;

/// One call of a run. With several processes (TrainerOptions::communicator) each process makes a
/// Run, and only rank 0 writes files.
///
/// The log's lines are written before the checkpoint of their steps, and a continued run removes
/// the lines after its checkpoint. So a run that was killed and continued ends with the same log as
/// a run without interruption, except for the seconds.
class Run {
 public:
  /// Locks the folder, continues what is saved there, and begins log and page. `trainer` must
  /// outlive this object. **Errors**: another run uses the folder; a saved run that does not match;
  /// a checkpoint or log that is malformed; notes that a checkpoint cannot hold; files that cannot
  /// be written.
  Run(nn::Trainer& trainer, RunOptions options);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Trains to the end, or until a signal, max_steps or trainer.stop(). Saves after each epoch and
  /// evaluation, and when the run stops; `callbacks` are called after the files are written.
  /// **Errors**: as nn::Trainer::train; a checkpoint, log or page that cannot be written. The page
  /// shows an error that ends the run.
  RunResult train(const nn::TrainerCallbacks& callbacks = {});

  /// Adds a confusion matrix of the trained model to the page. **Errors**: as
  /// pages::training_page and pages::write_page.
  void report(pages::ConfusionMatrix classes);

  /// The number of steps completed before this call.
  index_t first_step() const { return first_step_; }
  /// The time of this call so far.
  double seconds() const;
  /// The sum of the lengths of all examples of this call so far.
  index_t length() const { return length_; }

 private:
  bool writes() const;
  void take_folder();
  void load(const nn::Checkpoint& saved);
  void begin_files();
  std::string earlier_lines() const;
  bool is_saved() const;
  void save() const;
  nn::StopReason run_or_fail(const nn::TrainerCallbacks& callbacks);
  void after_step(const nn::StepReport& report);
  void take_evaluation();
  void write_pending();
  std::string standing() const;
  int stopping_signal() const;

  nn::Trainer& trainer_;
  RunOptions options_;
  std::chrono::steady_clock::time_point start_;
  index_t first_step_ = 0;
  index_t length_ = 0;
  std::unique_ptr<ReportFile> report_;
  std::ofstream log_;
  std::string lines_;                         // of the log, kept for the page
  double seconds_before_ = 0;                 // of earlier calls, from the log
  std::optional<pages::LoggedStep> pending_;  // an evaluation may follow
};

}  // namespace tessera::runs
