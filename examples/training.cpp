#include "examples/training.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <system_error>

#include "nn/training/clip_grad.h"
#include "tensor/autograd/tape.h"

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

/// Parameters as a module, so that they load like one.
struct AsModule {
  nn::Parameters parameters;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    for (auto& parameter : self.parameters) visitor(parameter.name, parameter.tensor);
  }
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nn::Schedule schedule_of(const TrainingOptions& options, index_t batches_per_epoch) {
  const index_t total = options.epochs * batches_per_epoch;
  return nn::linear_schedule(std::llround(options.warmup * static_cast<double>(total)), total);
}

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
    add(example.label);
    add(std::ssize(example.tokens));
    for (index_t token : example.tokens) add(token);
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

Training::Training(const Program& program, nn::Parameters parameters, std::vector<index_t> lengths,
                   std::uint64_t digest, const nn::Checkpoint& notes)
    : options_(program.options),
      base_(program.settings()),
      parameters_(std::move(parameters)),
      lengths_(std::move(lengths)),
      sampler_(lengths_, {.batch_size = options_.batch_size, .seed = options_.seed}),
      optimizer_(nn::split_weight_decay(parameters_),
                 {.lr = options_.learning_rate, .weight_decay = options_.weight_decay}),
      scheduler_(optimizer_, schedule_of(options_, sampler_.batches_per_epoch())) {
  base_.set("digest", digest);
  for (const auto& [name, value] : notes.values) base_.set(name, value);
  if (program.resumed) {
    if (program.resumed->integer<std::uint64_t>("digest") != digest) {
      fail_file(program.resumed->file, "it was begun with other examples");
    }
    load(*program.resumed);
  }
  if (!options_.save.empty()) make_folder(options_.save);
  if (!options_.log.empty()) open_log();
}

index_t Training::total_steps() const {
  return options_.epochs * sampler_.batches_per_epoch();
}

bool Training::run(const TrainingHooks& hooks) {
  const InterruptScope scope;
  start_ = std::chrono::steady_clock::now();
  first_step_ = scheduler_.steps();
  while (sampler_.epoch() < options_.epochs) {
    const index_t epoch = sampler_.epoch();
    step(hooks);
    const bool finished = sampler_.epoch() > epoch;
    std::string summary;
    if (finished) {
      summary = hooks.summary ? hooks.summary(sums_)
                              : "loss " + fixed(sums_.mean_loss(), 4) + "  accuracy " +
                                    fixed(sums_.accuracy(), 4);
      sums_ = {};
    }
    const bool limited = options_.max_steps > 0 &&
                         scheduler_.steps() - first_step_ >= options_.max_steps &&
                         scheduler_.steps() < total_steps();
    const bool stop = interrupted != 0 || limited;
    // Before a line says so: whoever has read it may end this process.
    if (!options_.save.empty() && (finished || stop)) save();
    if (finished) {
      progress_.line(format("epoch ", epoch + 1, "/", options_.epochs, "  ", summary, "  ",
                            fixed(static_cast<double>(tokens_) / seconds_since(start_), 0),
                            " tokens/s  ", clock_time(seconds_since(start_))));
    }
    if (stop) {
      progress_.line(format("stopped after step ", scheduler_.steps(), " of ", total_steps(),
                            options_.save.empty() ? "; nothing is saved without --save"
                                                  : "; go on with --resume " + options_.save));
      return false;
    }
  }
  return true;
}

void Training::step(const TrainingHooks& hooks) {
  const index_t epoch = sampler_.epoch() + 1;
  const std::span<const index_t> chosen = sampler_.next();
  double loss = 0;
  {
    Tape tape;
    const BatchResult result = hooks.loss(chosen);
    loss = result.loss.item();
    if (result.count > 0) {  // else there is nothing to learn, and no loss
      check_finite("loss", loss);
      tape.backward(result.loss);
      sums_.loss += loss * static_cast<double>(result.count);
      sums_.count += result.count;
      sums_.correct += result.correct;
    }
  }
  const double norm = nn::clip_grad_norm(optimizer_, options_.clip);
  check_finite("norm of the gradient", norm);
  optimizer_.step();
  optimizer_.zero_grad();
  index_t tokens = 0;
  for (index_t i : chosen) tokens += lengths_[static_cast<std::size_t>(i)];
  tokens_ += tokens;
  if (log_.is_open()) log_step(epoch, loss, norm, tokens);
  scheduler_.step();
  show(loss);
}

void Training::check_finite(const char* what, double value) const {
  if (std::isfinite(value)) return;
  fail_file("training", "the ", what, " is ", value, " after step ", scheduler_.steps(),
            "; a smaller --lr may help");
}

void Training::show(double loss) {
  const double seconds = seconds_since(start_);
  const auto batches = static_cast<double>(sampler_.batches_per_epoch());
  const auto done = static_cast<double>(scheduler_.steps() - first_step_);
  const auto left = static_cast<double>(total_steps() - scheduler_.steps());
  if (sampler_.position() == 0) return;  // the epoch's own line comes
  progress_.show({.epoch = sampler_.epoch() + 1,
                  .epochs = options_.epochs,
                  .fraction = static_cast<double>(sampler_.position()) / batches,
                  .loss = loss,
                  .tokens_per_second = static_cast<double>(tokens_) / seconds,
                  .seconds_left = seconds / done * left});
}

void Training::open_log() {
  const std::string kept =
      scheduler_.steps() > 0 ? kept_log(options_.log, scheduler_.steps()) : std::string();
  log_.open(options_.log, std::ios::trunc);
  log_ << (kept.empty() ? format(kLogHeader, '\n') : kept) << std::flush;
  if (!log_) fail_file(options_.log, "cannot write it");
}

void Training::log_step(index_t epoch, double loss, double norm, index_t tokens) {
  log_ << format(scheduler_.steps() + 1, ",", epoch, ",", loss, ",", scheduler_.lr(), ",", norm,
                 ",", tokens, ",", fixed(seconds_since(start_), 3), "\n")
       << std::flush;
  if (!log_) fail_file(options_.log, "cannot write it");
}

// ---- checkpoints ----

void Training::save() {
  nn::Checkpoint checkpoint = base_;
  checkpoint.add("model", nn::state_dict(AsModule{parameters_}))
      .add("optimizer", optimizer_.state())
      .add("scheduler", scheduler_.state())
      .add("sampler", sampler_.state())
      .add("generator", default_rng().state());
  checkpoint.set("sums.loss", sums_.loss);
  checkpoint.set("sums.count", sums_.count);
  checkpoint.set("sums.correct", sums_.correct);
  nn::save_checkpoint(std::filesystem::path(options_.save) / kCheckpointFile, checkpoint);
}

void Training::load(const nn::Checkpoint& checkpoint) {
  AsModule module{parameters_};
  nn::load_group(checkpoint, "model", module);
  optimizer_.load_state(checkpoint.group("optimizer"));
  scheduler_.load_state(checkpoint.group("scheduler"));
  sampler_.set_state(checkpoint.rng("sampler"));
  const index_t batches = sampler_.batches_per_epoch();
  const index_t steps = scheduler_.steps();
  if (sampler_.epoch() != steps / batches || sampler_.position() != steps % batches) {
    fail_file(checkpoint.file, "step ", steps, " is not batch ", sampler_.position(), " of epoch ",
              sampler_.epoch());
  }
  default_rng().set_state(checkpoint.rng("generator"));
  sums_.loss = checkpoint.number("sums.loss");
  sums_.count = checkpoint.integer("sums.count");
  sums_.correct = checkpoint.integer("sums.correct");
}

}  // namespace tessera::examples
