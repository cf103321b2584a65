#include "examples/programs/training.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "examples/programs/interrupts.h"
#include "examples/programs/processes.h"
#include "nn/training/detail/digest.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr double kSecondsBetweenReports = 5;
constexpr double kSecondsBetweenEpochs = 0.5;  // if an epoch takes less

/// The lines of a log up to the one of `step`; nothing if it has not our header. One without the
/// last columns, as older versions wrote it, gets them empty. A last line without an end was not
/// written to its end.
std::string kept_lines(std::istream& log, index_t step) {
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

/// The same of a file; nothing if there is none.
std::string kept_log(const std::string& path, index_t step) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path);
  return kept_lines(file, step);
}

/// The signal that has stopped the processes, whichever has received it; 0: none has.
int stopping_signal() {
  int signal = 0;
  for (const std::string& each : processes().all_gather(std::to_string(noted_signal()))) {
    signal = std::max(signal, std::stoi(each));
  }
  return signal;
}

}  // namespace

std::uint64_t digest_of(std::span<const text::Example> examples) {
  nn::Digest digest;
  const auto add = [&](index_t value) { digest.add(static_cast<std::uint64_t>(value)); };
  for (const text::Example& example : examples) {
    add(std::holds_alternative<index_t>(example.label) ? text::class_of(example) : -1);
    add(std::ssize(example.ids));
    for (const index_t id : example.ids) add(id);
    if (const auto* const labels = std::get_if<std::vector<index_t>>(&example.label)) {
      for (const index_t label : *labels) add(label);
    }
    if (const auto* const value = std::get_if<double>(&example.label)) {
      add(std::bit_cast<index_t>(*value));
    }
  }
  return digest.value();
}

void require_classes(const std::string& file, const std::vector<std::string>& labels) {
  if (labels.size() > 1) return;
  fail_file(file, "labels must be at least 2 different ones, got only ", printable(labels.front()));
}

models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocabulary_size) {
  return {
      .vocabulary_size = vocabulary_size,
      .encoder = {.layers = models::repeat_layer({.d_model = options.width,
                                                  .nhead = options.heads,
                                                  .dim_feedforward = options.feed_forward,
                                                  .dropout = options.dropout,
                                                  .activation = nn::Activation::kGelu,
                                                  .norm_first = true,
                                                  .gradient_checkpoint = options.checkpoint_layers},
                                                 options.layers),
                  .final_norm = true,
                  .d_model = options.width},
      .dropout = options.dropout};
}

std::string said(const nn::LossTotals& totals, bool has_accuracy) {
  if (!has_accuracy) return "error " + fixed(std::sqrt(totals.mean()), 4);
  return "loss " + fixed(totals.mean(), 4) + "  accuracy " + fixed(totals.accuracy(), 4);
}

Training::Training(const Program& program, std::vector<nn::ParameterGroup> groups,
                   TrainingTask task)
    : program_(program),
      options_(program.options),
      base_(program.settings()),
      task_(std::move(task)),
      optimizer_(std::move(groups),
                 {.lr = options_.learning_rate, .weight_decay = options_.weight_decay}) {
  base_.set("digest", task_.digest);
  for (const auto& [name, value] : task_.notes.values) base_.set(name, value);
  check_processes();
}

/// Refuses processes that are too many, or have read other things than rank 0. Their options are the
/// same by now; the trainer compares weights.
void Training::check_processes() const {
  const index_t size = processes().size();
  const std::string cure =
      program_.resumed
          ? "; the run started with these shards, use fewer processes"
          : str_cat("; start fewer, or take --shards ", size, ", which changes the bits");
  require(size <= options_.shards, program_.name().c_str(), "processes must be at most --shards ",
          options_.shards, ", got ", size, cure);
  nn::NamedTexts facts = {{"the digest of the examples", str_cat(task_.digest)}};
  facts.insert(facts.end(), base_.values.begin(), base_.values.end());
  nn::require_agreement(processes(), program_.name().c_str(), facts);
}

nn::TrainerOptions Training::trainer_options() const {
  return {.epochs = options_.epochs,
          .batch_size = options_.batch_size,
          .shards = options_.shards,
          .seed = options_.seed,
          .decay = nn::Schedule::Decay::kLinear,
          .warmup = options_.warmup,
          .clip = options_.clip,
          .patience = options_.patience,
          .best_by = task_.best_by,
          .keep_best = task_.keep_best,
          .processes = &processes()};
}

/// Continues the run, makes the folder of checkpoints its own, and begins log and report.
void Training::begin(index_t parameters) {
  if (program_.resumed) {
    if (program_.resumed->integer<std::uint64_t>("digest") != task_.digest) {
      fail_file(program_.resumed->file, "examples must be those of the run, got different ones");
    }
    trainer_->load_state(*program_.resumed);
  }
  if (!options_.save.empty()) {
    from_first([&] {  // all processes get its errors
      take_folder();
      return std::string();
    });
  }
  begin_report(parameters);
}

/// **Errors**: another run writes in the folder, or has saved there and is not to be overwritten.
void Training::take_folder() {
  if (program_.lock) return;  // the run goes on there
  lock_ = lock_of_checkpoints(options_.save, kCheckpointFile);
  if (options_.overwrite || !is_saved()) return;
  fail_file(checkpoint_in(options_.save).string(),
            "must not exist, but contains a saved run; continue with --resume ", options_.save,
            ", or replace it with --overwrite");
}

bool Training::is_saved() const {
  std::error_code error;
  return !options_.save.empty() && std::filesystem::exists(checkpoint_in(options_.save), error);
}

/// What log and report begin with: a header, and the lines up to where this call continues.
std::string Training::earlier_lines() const {
  const index_t step = trainer_->step();
  std::string kept;
  if (step > 0) {
    if (!options_.log.empty()) kept = kept_log(options_.log, step);
    if (const auto earlier = kept.empty() ? report_.earlier_log() : std::nullopt) {
      std::istringstream lines(*earlier);
      kept = kept_lines(lines, step);
    }
  }
  return kept.empty() ? std::string(pages::kRunLogHeader) + '\n' : kept;
}

void Training::begin_report(index_t parameters) {
  pages::TrainingReport facts;
  facts.title = program_.name();
  facts.run = str_cat(program_.name(), " ", task_.digest, " ", options_.seed);
  facts.options = program_.values();
  facts.machine = machine_facts();
  facts.machine.emplace_back("parameters", str_cat(parameters));
  facts.machine.emplace_back("examples", str_cat(task_.train.lengths.size()));
  facts.machine.emplace_back("held-out examples", str_cat(task_.held_out.lengths.size()));
  report_ = Report(options_.report, std::move(facts));
  if (!leaves_traces()) return;
  if (options_.log.empty() && !report_.is_wanted()) return;
  std::string lines = earlier_lines();
  const std::string& name = options_.log.empty() ? options_.report : options_.log;
  const std::vector<pages::LoggedStep> steps = pages::read_run_log(lines, name);
  // What the last line says goes on, not pages::elapsed(): a log whose seconds once began again would
  // have those before it counted twice.
  for (const pages::LoggedStep& step : steps)
    seconds_before_ = step.seconds.value_or(seconds_before_);
  if (!options_.log.empty()) {
    log_.open(options_.log, std::ios::trunc);
    log_ << lines << std::flush;
    if (!log_) fail_file(options_.log, "cannot be written");
  }
  if (!report_.is_wanted()) return;
  lines_ = std::move(lines);
  report_.write("begins", lines_, true);
}

void Training::report(pages::ClassCounts classes) {
  report_.add(std::move(classes));
  report_.write(std::string(report_.state()), lines_, false);
}

void Training::save() const {
  nn::Checkpoint checkpoint = trainer_->state();  // all give their parts to rank 0
  if (!leaves_traces()) return;
  for (const auto& [name, value] : base_.values) checkpoint.set(name, value);
  nn::save_checkpoint(checkpoint_in(options_.save), checkpoint);
}

double Training::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Training::run() {
  const InterruptScope scope;
  start_ = std::chrono::steady_clock::now();
  first_step_ = trainer_->step();
  const nn::RunEnd end = run_or_fail();
  const std::string where =
      str_cat("after step ", trainer_->step(), " of ", trainer_->total_steps());
  if (end == nn::RunEnd::kPatience) {
    progress_.line(str_cat("no better for ", options_.patience, " epochs: ended ", where,
                           "; the best was after step ", trainer_->best_step().value_or(0)));
  } else if (end == nn::RunEnd::kStopped) {
    const std::string attention = program_.file("--attention");  // which is written after run()
    progress_.line(str_cat(
        "stopped ", where,
        options_.save.empty() ? "; nothing is saved without " + program_.save_flag()
                              : "; continue with --resume " + options_.save,
        attention.empty() ? "" : "; --attention " + attention + " is not written before the end"));
  }
  report_.write((end == nn::RunEnd::kStopped ? "stopped " : "finished ") + where, lines_, false);
  if (end != nn::RunEnd::kStopped) return true;
  if (const int signal = stopping_signal()) throw StoppedBySignal{signal};
  return false;
}

/// Trains; the error of a lost process says how to continue without it.
nn::RunEnd Training::run_trainer(const nn::TrainerHooks& hooks) {
  try {
    return trainer_->run(hooks);
  } catch (const nn::ProcessLost& lost) {
    throw nn::ProcessLost(lost.what() + (is_saved() ? "; continue with --resume " + options_.save
                                                    : "; nothing was saved"));
  }
}

/// Trains; an error is written to the report too.
nn::RunEnd Training::run_or_fail() {
  nn::TrainerHooks hooks = {
      .step = [this](const nn::StepReport& report) { after_step(report); },
      .evaluation = [this](const nn::EvaluationReport& report) { after_evaluation(report); },
      .epoch = [this](const nn::EpochReport& report) { after_epoch(report); }};
  if (!options_.save.empty()) hooks.save = [this] { save(); };
  try {
    return run_trainer(hooks);
  } catch (const std::exception& error) {
    const std::string state = str_cat("failed after step ", trainer_->step(), ": ", error.what());
    try {
      report_.write(state, lines_, false);
    } catch (const std::exception&) {
      // the first error says more
    }
    throw;
  }
}

void Training::after_step(const nn::StepReport& report) {
  tokens_ += report.length;
  pages::LoggedStep step = {.step = report.step,
                            .epoch = report.epoch + 1,
                            .loss = report.totals.mean(),
                            .learning_rate = report.lr,
                            .gradient_norm = report.gradient_norm,
                            .tokens = static_cast<double>(report.length),
                            .seconds = seconds_before_ + seconds()};
  if (task_.has_accuracy) step.accuracy = report.totals.accuracy();
  const bool ends_epoch = report.step % trainer_->steps_per_epoch() == 0;
  if (ends_epoch && !task_.held_out.lengths.empty()) {
    pending_ = step;  // written with its evaluation
  } else {
    write(step);
  }
  report_.write_after(kSecondsBetweenReports, standing(), lines_);
  show(report.totals.mean());
  const bool limited = options_.max_steps > 0 && report.step - first_step_ >= options_.max_steps;
  if (noted_signal() != 0 || limited) trainer_->stop();
}

void Training::after_evaluation(const nn::EvaluationReport& report) {
  if (!pending_) return;  // of a step that an earlier call has written
  pending_->held_out_loss = report.totals.mean();
  if (task_.has_accuracy) pending_->held_out_accuracy = report.totals.accuracy();
  write(*pending_);
  pending_.reset();
}

/// Adds a line to the log, and to what the report will show.
void Training::write(const pages::LoggedStep& step) {
  if (!leaves_traces() || (!log_.is_open() && !report_.is_wanted())) return;
  const std::string line = pages::run_log_line(step);
  if (report_.is_wanted()) lines_ += line;
  if (!log_.is_open()) return;
  log_ << line << std::flush;
  if (!log_) fail_file(options_.log, "cannot be written");
}

std::string Training::standing() const {
  return str_cat("epoch ", std::min(trainer_->epoch() + 1, options_.epochs), " of ",
                 options_.epochs, ", step ", trainer_->step(), " of ", trainer_->total_steps());
}

void Training::after_epoch(const nn::EpochReport& report) {
  std::string summary =
      task_.summary ? task_.summary(report) : said(report.totals, task_.has_accuracy);
  if (!task_.summary && report.evaluation) {
    summary += "  held out: " + said(report.evaluation->totals, task_.has_accuracy);
    if (report.evaluation->is_best) summary += ", the best";
  }
  progress_.line(str_cat("epoch ", report.epoch + 1, "/", options_.epochs, "  ", summary, "  ",
                         fixed(static_cast<double>(tokens_) / seconds(), 0), " tokens/s  ",
                         clock_time(seconds())));
  report_.write_after(kSecondsBetweenEpochs, standing(), lines_);
  if (noted_signal() != 0) trainer_->stop();  // received during the evaluation
}

void Training::show(double loss) {
  const index_t batches = trainer_->steps_per_epoch();
  const index_t position = trainer_->step() % batches;
  if (position == 0) return;  // the epoch's own line comes
  const auto done = static_cast<double>(trainer_->step() - first_step_);
  const auto left = static_cast<double>(trainer_->total_steps() - trainer_->step());
  progress_.show({.epoch = trainer_->epoch() + 1,
                  .epochs = options_.epochs,
                  .fraction = static_cast<double>(position) / static_cast<double>(batches),
                  .loss = loss,
                  .tokens_per_second = static_cast<double>(tokens_) / seconds(),
                  .seconds_left = seconds() / done * left});
}

}  // namespace tessera::examples
