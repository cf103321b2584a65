#include "tessera/models/runs/run.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "tessera/nn/training/communicator.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/safetensors.h"

namespace tessera::runs {

namespace {

constexpr double kSecondsBetweenReports = 5;
constexpr double kSecondsBetweenEpochs = 0.5;  // if an epoch takes less time

/// The lines of a log up to that of `step`; nothing if there is no such file, or if its header is
/// different. If the last columns are missing, as in older versions, they are added empty. A last
/// line without a line end is incomplete and removed.
std::string kept_log(const std::filesystem::path& path, index_t step) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream log(path);
  std::string kept, more;
  for (std::string line; std::getline(log, line) && !log.eof();) {
    if (line.ends_with('\r')) line.pop_back();
    if (!kept.empty() && std::atoll(line.c_str()) > step) break;
    if (kept.empty()) {
      if (line.empty() || !pages::kRunLogHeader.starts_with(line)) break;
      const std::string_view rest = pages::kRunLogHeader.substr(line.size());
      if (!rest.empty() && rest.front() != ',') break;
      more.assign(static_cast<std::size_t>(std::count(rest.begin(), rest.end(), ',')), ',');
      kept += std::string(pages::kRunLogHeader) + '\n';
      continue;
    }
    kept += line + more + '\n';
  }
  return kept;
}

/// While an object exists, Ctrl-C, SIGTERM and SIGHUP are noted. A second Ctrl-C, or a second
/// SIGTERM, ends the process. A signal that was ignored before stays ignored, such as SIGHUP under
/// nohup and SIGINT in a script's `program &`.
class InterruptScope {
 public:
  InterruptScope() {
    noted_ = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      // A closing terminal sends SIGHUP more than once.
      const int reset = kSignals[i] == SIGHUP ? 0 : static_cast<int>(SA_RESETHAND);
      struct sigaction action = {};
      action.sa_handler = [](int signal) { noted_ = signal; };
      action.sa_flags = reset | SA_RESTART;
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~InterruptScope() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  /// The signal noted since the scope began; 0: none.
  static int noted() { return noted_; }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  static inline volatile std::sig_atomic_t noted_ = 0;
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

nn::Communicator& processes_of(const nn::Trainer& trainer) {
  static nn::OneProcess one;
  nn::Communicator* const communicator = trainer.options().communicator;
  return communicator != nullptr ? *communicator : one;
}

/// Our callback, followed by the caller's.
template <class Report, class Ours>
std::function<void(const Report&)> both(const Ours& ours,
                                        const std::function<void(const Report&)>& theirs) {
  return [&, ours](const Report& report) {
    ours(report);
    if (theirs) theirs(report);
  };
}

}  // namespace

/// The page, rewritten during the run; without a name, no file. The file is replaced as a whole, so
/// a browser may load the page at any time.
class ReportFile {
 public:
  /// `facts` is the page without its state and log.
  ReportFile(std::filesystem::path file, pages::TrainingReport facts)
      : file_(std::move(file)), page_(std::move(facts)) {}

  bool is_wanted() const { return !file_.empty(); }
  const std::string& state() const { return page_.state; }
  void add(pages::ConfusionMatrix classes) { page_.classes.push_back(std::move(classes)); }
  void write(const std::string& state, const std::string& log, bool is_running) {
    if (!is_wanted()) return;
    const Clock::time_point begin = Clock::now();
    page_.state = state;
    page_.is_running = is_running;
    page_.log = log;
    pages::write_page(file_, pages::training_page(page_));
    page_.log.clear();
    written_ = Clock::now();
    cost_ = std::chrono::duration<double>(written_ - begin).count();
  }

  /// The same during a run, unless the last write was less than `seconds` ago. Takes less than a
  /// hundredth of the time.
  void write_after(double seconds, const std::string& state, const std::string& log) {
    const double passed = std::chrono::duration<double>(Clock::now() - written_).count();
    if (passed >= std::max(seconds, 100 * cost_)) write(state, log, true);
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path file_;
  pages::TrainingReport page_;
  Clock::time_point written_ = {};
  double cost_ = 0;  // seconds of the last write
};

RunOptions in_folder(const std::filesystem::path& folder) {
  return {.folder = folder, .log = folder / kLogFile, .report = folder / kReportFile};
}

Run::Run(nn::Trainer& trainer, RunOptions options)
    : trainer_(trainer), options_(std::move(options)), start_(std::chrono::steady_clock::now()) {
  options_.notes.set("digest", trainer_.digest());
  if (options_.log.empty() && !options_.folder.empty()) options_.log = options_.folder / kLogFile;
  if (!options_.folder.empty()) {
    for (const auto& [name, text] : options_.notes.values) check_safetensors_text(name, text);
  }
  if (!options_.owns_folder && !options_.folder.empty()) take_folder();
  if (options_.resumed != nullptr) load(*options_.resumed);
  begin_files();
}

Run::~Run() = default;

bool Run::writes() const {
  return processes_of(trainer_).rank() == 0;
}

/// Locks the folder for this run, and continues the run that is saved there.
void Run::take_folder() {
  if (writes()) options_.lock = lock_folder(options_.folder, kCheckpointFile);
  if (options_.resumed == nullptr && is_saved()) {
    load(nn::load_checkpoint(options_.folder / kCheckpointFile));
  }
}

void Run::load(const nn::Checkpoint& saved) {
  if (saved.integer<std::uint64_t>("digest") != trainer_.digest()) {
    fail_file(saved.file, "examples must be those of the run, got different ones");
  }
  trainer_.load_state(saved);
}

bool Run::is_saved() const {
  std::error_code error;
  return !options_.folder.empty() &&
         std::filesystem::exists(options_.folder / kCheckpointFile, error);
}

/// The first lines of log and page: a header, and the lines up to the step where this call
/// continues.
std::string Run::earlier_lines() const {
  const std::string kept = trainer_.step() > 0 ? kept_log(options_.log, trainer_.step()) : "";
  return kept.empty() ? std::string(pages::kRunLogHeader) + '\n' : kept;
}

void Run::begin_files() {
  const auto path = [&](const std::filesystem::path& file) {
    return writes() ? file : std::filesystem::path();
  };
  report_ = std::make_unique<ReportFile>(path(options_.report), std::move(options_.page));
  options_.log = path(options_.log);
  if (options_.log.empty() && !report_->is_wanted()) return;
  std::string lines = earlier_lines();
  const auto& name = options_.log.empty() ? options_.report : options_.log;
  // Continues from the last line's seconds, not pages::elapsed(): if a log's seconds have restarted
  // once, that function would count the earlier ones twice.
  for (const pages::LoggedStep& step : pages::read_run_log(lines, name.string())) {
    seconds_before_ = step.seconds.value_or(seconds_before_);
  }
  if (!options_.log.empty()) {
    std::error_code error;
    const bool is_device = std::filesystem::exists(options_.log, error) &&
                           !std::filesystem::is_regular_file(options_.log, error);
    if (!is_device) write_text(options_.log, lines);  // as a whole, so that a kill loses no lines
    log_.open(options_.log, std::ios::app);
    if (is_device) log_ << lines << std::flush;
    if (!log_) fail_file(options_.log.string(), "cannot be written");
  }
  if (!report_->is_wanted()) return;
  lines_ = std::move(lines);
  report_->write("begins", lines_, true);
}

void Run::report(pages::ConfusionMatrix classes) {
  report_->add(std::move(classes));
  report_->write(std::string(report_->state()), lines_, false);
}

void Run::save() const {
  if (!writes()) return;
  nn::Checkpoint checkpoint = trainer_.state();
  for (const auto& [name, value] : options_.notes.values) checkpoint.set(name, value);
  nn::save_checkpoint(options_.folder / kCheckpointFile, checkpoint);
}

double Run::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

/// The signal that has stopped the processes, received by any of them; 0: none.
int Run::stopping_signal() const {
  int signal = 0;
  for (const auto& each :
       processes_of(trainer_).all_gather(std::to_string(InterruptScope::noted()))) {
    signal = std::max(signal, std::stoi(each));
  }
  return signal;
}

RunResult Run::train(const nn::TrainerCallbacks& callbacks) {
  const InterruptScope scope;
  start_ = std::chrono::steady_clock::now();
  first_step_ = trainer_.step();
  RunResult ending = {.reason = run_or_fail(callbacks)};
  const std::string where = str_cat("after step ", trainer_.step(), " of ", trainer_.total_steps());
  const nn::TrainerOptions& options = trainer_.options();
  if (ending.reason == nn::StopReason::kEarlyStopped) {
    ending.text = str_cat("no better for ", options.patience,
                          options.evaluate_every > 0 ? " evaluations" : " epochs", ": ended ",
                          where, "; the best was after step ", trainer_.best_step().value_or(0));
  } else if (ending.is_stopped()) {
    ending.text = "stopped " + where + (options_.folder.empty() ? "" : "; " + options_.cure);
    ending.signal = stopping_signal();
  }
  report_->write((ending.is_stopped() ? "stopped " : "finished ") + where, lines_, false);
  return ending;
}

/// Trains. Errors are also written to the page.
nn::StopReason Run::run_or_fail(const nn::TrainerCallbacks& callbacks) {
  nn::TrainerCallbacks all = {
      .step =
          both<nn::StepReport>([this](const auto& report) { after_step(report); }, callbacks.step),
      .save =
          [&] {
            take_evaluation();
            if (!options_.folder.empty()) save();
            if (callbacks.save) callbacks.save();
          },
      .evaluation = callbacks.evaluation,
      .epoch = both<nn::EpochReport>(
          [this](const auto&) {
            report_->write_after(kSecondsBetweenEpochs, standing(), lines_);
            if (InterruptScope::noted() != 0) trainer_.stop();  // received during the evaluation
          },
          callbacks.epoch)};
  const auto failed = [&](const std::string& error) {
    try {
      write_pending();
      report_->write(str_cat("failed after step ", trainer_.step(), ": ", error), lines_, false);
    } catch (const std::exception&) {
      // the first error is more informative
    }
  };
  try {
    return trainer_.train(all);
  } catch (const std::exception& error) {
    failed(error.what());
    throw;
  }
}

void Run::after_step(const nn::StepReport& report) {
  write_pending();
  length_ += report.length;
  pending_ = {.step = report.step,
              .epoch = report.epoch + 1,
              .loss = report.totals.mean(),
              .learning_rate = report.lr,
              .gradient_norm = report.gradient_norm,
              .tokens = static_cast<double>(report.length),
              .seconds = seconds_before_ + seconds()};
  if (options_.has_accuracy) pending_->accuracy = report.totals.accuracy();
  if (!trainer_.evaluates_after(report.step)) write_pending();
  report_->write_after(kSecondsBetweenReports, standing(), lines_);
  const bool limited = options_.max_steps > 0 && report.step - first_step_ >= options_.max_steps;
  if (InterruptScope::noted() != 0 || limited) trainer_.stop();
}

/// Writes the last step with its evaluation, which the next checkpoint contains.
void Run::take_evaluation() {
  const std::optional<nn::EvaluationReport>& evaluation = trainer_.last_evaluation();
  if (pending_ && evaluation && evaluation->step == pending_->step) {
    pending_->held_out_loss = evaluation->totals.mean();
    if (options_.has_accuracy) pending_->held_out_accuracy = evaluation->totals.accuracy();
  }
  write_pending();
}

/// Adds the last step to the log and to the lines of the page.
void Run::write_pending() {
  const std::optional<pages::LoggedStep> step = std::exchange(pending_, {});
  if (!step || (!log_.is_open() && !report_->is_wanted())) return;
  const std::string line = pages::run_log_line(*step);
  if (report_->is_wanted()) lines_ += line;
  if (!log_.is_open()) return;
  log_ << line << std::flush;
  if (!log_) fail_file(options_.log.string(), "cannot be written");
}

std::string Run::standing() const {
  const nn::TrainerOptions& options = trainer_.options();
  const std::string step = str_cat("step ", trainer_.step(), " of ", trainer_.total_steps());
  if (options.steps > 0) return step;
  return str_cat("epoch ", std::min(trainer_.epoch() + 1, options.epochs), " of ", options.epochs,
                 ", ", step);
}

}  // namespace tessera::runs
