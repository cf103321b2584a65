#include "examples/training.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr const char* kLogHeader = "step,epoch,loss,learning_rate,gradient_norm,tokens,seconds";

volatile std::sig_atomic_t interrupted = 0;

/// While one is in scope, the first Ctrl-C only sets `interrupted`; the second one kills.
class InterruptScope {
 public:
  InterruptScope() {
    interrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &before_[i]);
  }
  ~InterruptScope() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  static constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};
  std::array<struct sigaction, 2> before_ = {};
};

/// The lines of a log up to the one of `step`; nothing where there is none, or no file.
std::string kept_log(const std::string& path, index_t step) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    if (kept.empty() ? line != kLogHeader : std::atoll(line.c_str()) > step) break;
    kept += line + '\n';
  }
  return kept;
}

/// Makes the folder in which checkpoints will be written.
void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_file(folder, "cannot make this folder: ", error.message());
  if (access(folder.c_str(), W_OK | X_OK) != 0) fail_file(folder, "cannot write there");
  const std::filesystem::path file = std::filesystem::path(folder) / kCheckpointFile;
  if (std::filesystem::is_directory(file, error)) {
    fail_file(file.string(), "a folder is where the checkpoint should be");
  }
}

}  // namespace

std::uint64_t digest_of(std::span<const text::Example> examples) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a on whole numbers
  const auto add = [&](index_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 1099511628211ULL;
  };
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
  return hash;
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

Training::Training(const Program& program, std::vector<nn::ParameterGroup> groups, Lesson lesson)
    : options_(program.options),
      save_flag_(program.save_flag()),
      base_(program.settings()),
      lesson_(std::move(lesson)),
      optimizer_(std::move(groups), {.lr = options_.learning_rate,
                                     .eps = options_.eps,
                                     .weight_decay = options_.weight_decay}) {
  base_.set("digest", lesson_.digest);
  for (const auto& [name, value] : lesson_.notes.values) base_.set(name, value);
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
          .best_by = lesson_.best_by,
          .keep_best = lesson_.keep_best};
}

void Training::resume(const Program& program) {
  if (program.resumed) {
    if (program.resumed->integer<std::uint64_t>("digest") != lesson_.digest) {
      fail_file(program.resumed->file, "it was begun with other examples");
    }
    trainer_->load_state(*program.resumed);
  }
  if (!options_.save.empty()) make_folder(options_.save);
  if (!options_.log.empty()) open_log();
}

void Training::save() const {
  nn::Checkpoint checkpoint = trainer_->state();
  for (const auto& [name, value] : base_.values) checkpoint.set(name, value);
  nn::save_checkpoint(std::filesystem::path(options_.save) / kCheckpointFile, checkpoint);
}

double Training::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Training::run() {
  const InterruptScope scope;
  start_ = std::chrono::steady_clock::now();
  first_step_ = trainer_->step();
  nn::TrainerHooks hooks = {
      .step = [this](const nn::StepReport& report) { after_step(report); },
      .epoch = [this](const nn::EpochReport& report) { after_epoch(report); }};
  if (!options_.save.empty()) hooks.save = [this] { save(); };
  const nn::RunEnd end = trainer_->run(hooks);
  const std::string where =
      format("after step ", trainer_->step(), " of ", trainer_->total_steps());
  if (end == nn::RunEnd::kPatience) {
    progress_.line(format("no better for ", options_.patience, " epochs: ended ", where,
                          "; the best was after step ", trainer_->best_step().value_or(0)));
  } else if (end == nn::RunEnd::kStopped) {
    progress_.line(format("stopped ", where,
                          options_.save.empty() ? "; nothing is saved without " + save_flag_
                                                : "; go on with --resume " + options_.save));
  }
  return end != nn::RunEnd::kStopped;
}

void Training::after_step(const nn::StepReport& report) {
  tokens_ += report.length;
  if (log_.is_open()) {
    log_ << format(report.step, ",", report.epoch + 1, ",", report.totals.mean(), ",", report.lr,
                   ",", report.gradient_norm, ",", report.length, ",", fixed(seconds(), 3), "\n")
         << std::flush;
    if (!log_) fail_file(options_.log, "cannot write it");
  }
  show(report.totals.mean());
  const bool limited = options_.max_steps > 0 && report.step - first_step_ >= options_.max_steps;
  if (interrupted != 0 || limited) trainer_->stop();
}

void Training::after_epoch(const nn::EpochReport& report) {
  const auto said = [](const nn::LossTotals& totals) {
    return "loss " + fixed(totals.mean(), 4) + "  accuracy " + fixed(totals.accuracy(), 4);
  };
  std::string summary = lesson_.summary ? lesson_.summary(report) : said(report.totals);
  if (!lesson_.summary && report.evaluation) {
    summary += "  held out: " + said(report.evaluation->totals);
    if (report.evaluation->is_best) summary += ", the best";
  }
  progress_.line(format("epoch ", report.epoch + 1, "/", options_.epochs, "  ", summary, "  ",
                        fixed(static_cast<double>(tokens_) / seconds(), 0), " tokens/s  ",
                        clock_time(seconds())));
  if (interrupted != 0) trainer_->stop();  // while the held-out examples were asked about
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

void Training::open_log() {
  const index_t step = trainer_->step();
  const std::string kept = step > 0 ? kept_log(options_.log, step) : std::string();
  log_.open(options_.log, std::ios::trunc);
  log_ << (kept.empty() ? format(kLogHeader, '\n') : kept) << std::flush;
  if (!log_) fail_file(options_.log, "cannot write it");
}

}  // namespace tessera::examples
