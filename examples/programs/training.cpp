#include "examples/programs/training.h"

#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "examples/programs/processes.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::examples {

namespace {

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name\t: ")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  std::array<char, 64> text{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

/// Processor, cores, threads, instruction set, compiler and the time of the call.
pages::Facts machine_facts() {
  return {{"processor", processor_name()},
          {"logical cores", str_cat(std::thread::hardware_concurrency())},
          {"processes", str_cat(processes().size())},
          {"threads of a process", str_cat(thread_count())},
          {"instruction set", current_isa()},
          {"compiler", compiler_name()},
          {"begun", utc_now()}};
}

}  // namespace

void require_classes(const std::string& file, const std::vector<std::string>& labels) {
  if (labels.size() > 1) return;
  fail_file(file, "labels must be at least 2 different ones, got only ", printable(labels.front()));
}

models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocabulary_size) {
  return {.vocabulary_size = vocabulary_size,
          .encoder = {.layers =
                          models::repeat_layer({.d_model = options.width,
                                                .nhead = options.heads,
                                                .dim_feedforward = options.feed_forward,
                                                .dropout = options.dropout,
                                                .activation = nn::Activation::kGelu,
                                                .norm_first = true,
                                                .gradient_checkpoint = options.gradient_checkpoint},
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
      task_(std::move(task)),
      optimizer_(std::move(groups),
                 {.lr = options_.learning_rate, .weight_decay = options_.weight_decay}) {
  for (const auto& [name, value] : program.settings().values) task_.notes.set(name, value);
  check_processes(task_.notes);
}

/// Throws if there are too many processes, or if they have read different data than rank 0. Their
/// options are equal at this point; the trainer compares weights.
void Training::check_processes(const nn::Checkpoint& base) const {
  const index_t size = processes().size();
  const std::string cure =
      program_.resumed
          ? "; the run started with these shards, use fewer processes"
          : str_cat("; start fewer, or take --shards ", size, ", which changes the bits");
  require(size <= options_.shards, program_.name().c_str(), "processes must be at most --shards ",
          options_.shards, ", got ", size, cure);
  nn::require_same(processes(), program_.name().c_str(), "the digest of the examples",
                   str_cat(task_.train.digest, ' ', task_.held_out.digest));
  for (const auto& [name, value] : base.values) {
    nn::require_same(processes(), program_.name().c_str(), name, value);
  }
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
          .communicator = &processes()};
}

void Training::begin(index_t parameters) {
  pages::TrainingReport page = {.title = program_.name()};
  for (const auto& [flag, value] : program_.values()) {
    (program_.is_default(flag) ? page.defaults : page.options).emplace_back(flag, value);
  }
  page.machine = machine_facts();
  page.machine.emplace_back("parameters", str_cat(parameters));
  page.machine.emplace_back("examples", str_cat(task_.train.lengths.size()));
  page.machine.emplace_back("held-out examples", str_cat(task_.held_out.lengths.size()));
  run_.emplace(*trainer_,
               runs::RunOptions{.folder = options_.save,
                                .log = options_.log,
                                .report = options_.report,
                                .max_steps = options_.max_steps,
                                .has_accuracy = task_.has_accuracy,
                                .notes = task_.notes,
                                .page = std::move(page),
                                .cure = "continue with --resume " + options_.save,
                                .owns_folder = true,
                                .lock = lock_of_folder(),
                                .resumed = program_.resumed ? &*program_.resumed : nullptr});
}

/// **Errors**: another run uses the folder, or has saved there without --overwrite.
std::shared_ptr<const FileLock> Training::lock_of_folder() const {
  std::shared_ptr<const FileLock> lock = program_.lock;
  if (options_.save.empty()) return lock;
  if (!lock && leaves_traces()) {  // else the run continues there
    lock = lock_folder(options_.save, runs::kCheckpointFile);
    std::error_code error;
    if (!options_.overwrite && std::filesystem::exists(checkpoint_in(options_.save), error)) {
      fail_file(checkpoint_in(options_.save).string(),
                "must not exist, but contains a saved run; continue with --resume ", options_.save,
                ", or replace it with --overwrite");
    }
  }
  processes().all_gather("");  // the others wait for rank 0
  return lock;
}

bool Training::run() {
  const runs::Ending ending =
      run_->train({.step = [&](const nn::StepReport& report) { show(report.totals.mean()); },
                   .epoch = [&](const nn::EpochReport& report) { say(report); }});
  if (!ending.is_stopped()) {
    if (!ending.text.empty()) progress_.line(ending.text);
    return true;
  }
  const std::string attention = program_.file("--attention");  // written after run()
  progress_.line(str_cat(
      ending.text,
      options_.save.empty() ? "; nothing is saved without " + program_.save_flag() : "",
      attention.empty() ? "" : "; --attention " + attention + " is not written before the end"));
  if (ending.signal != 0) throw StoppedBySignal{ending.signal};
  return false;
}

void Training::say(const nn::EpochReport& report) {
  std::string summary =
      task_.summary ? task_.summary(report) : said(report.totals, task_.has_accuracy);
  if (!task_.summary && report.evaluation) {
    summary += "  held out: " + said(report.evaluation->totals, task_.has_accuracy);
    if (report.evaluation->is_best) summary += ", the best";
  }
  const double seconds = run_->seconds();
  progress_.line(str_cat("epoch ", report.epoch + 1, "/", options_.epochs, "  ", summary, "  ",
                         fixed(static_cast<double>(run_->length()) / seconds, 0), " tokens/s  ",
                         clock_time(seconds)));
}

void Training::show(double loss) {
  const index_t batches = trainer_->steps_per_epoch();
  const index_t position = trainer_->step() % batches;
  if (position == 0) return;  // the epoch prints its own line
  const auto done = static_cast<double>(trainer_->step() - run_->first_step());
  const auto left = static_cast<double>(trainer_->total_steps() - trainer_->step());
  const double seconds = run_->seconds();
  progress_.show({.epoch = trainer_->epoch() + 1,
                  .epochs = options_.epochs,
                  .fraction = static_cast<double>(position) / static_cast<double>(batches),
                  .loss = loss,
                  .tokens_per_second = static_cast<double>(run_->length()) / seconds,
                  .seconds_left = seconds / done * left});
}

}  // namespace tessera::examples
