#include "examples/programs/training.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <system_error>
#include <thread>

#include "examples/programs/processes.h"
#include "models/text/tokenizers.h"
#include "nn/training/shards.h"
#include "tensor/format.h"
#include "tensor/io/file.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/profile_span.h"
#include "tensor/storage.h"

namespace tessera::examples {

namespace {

/// The checkpoint file in the folders of --save and --resume.
std::filesystem::path checkpoint_in(const std::string& folder) {
  return std::filesystem::path(folder) / runs::kCheckpointFile;
}

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

/// Processor, cores, threads, instruction set, compiler and the time of the call.
pages::Facts machine_facts() {
  return {{"processor", processor_name()},
          {"logical cores", str_cat(std::thread::hardware_concurrency())},
          {"processes", str_cat(processes().size())},
          {"threads of a process", str_cat(thread_count())},
          {"instruction set", current_isa()},
          {"compiler", compiler_name()},
          {"begun", utc_now("%Y-%m-%d %H:%M:%S UTC")}};
}

}  // namespace

Program::Program(std::string name, const std::string& description, const TrainingOptions& defaults,
                 Trains trains)
    : Command(std::move(name), description),
      options(defaults),
      save_flag_(trains == Trains::kNewModel ? "--save" : "--checkpoint") {
  advice_ = "; a smaller --batch-size or shorter texts take less";
  shares_work_ = true;
  if (trains == Trains::kNewModel) add_model_options();
  add_common_options();
}

void Program::add_held_out() {
  add_input("--held-out", options.held_out, "file of held-out lines, evaluated after each epoch");
  add("--held-out-share", options.held_out_share,
      "fraction of --train to hold out instead of --held-out", {0, 0.9})
      .kept();
  add("--patience", options.patience,
      "epochs without a better evaluation after which the run ends; 0: no limit", {0, 1'000'000})
      .kept();
}

void Program::add_model_options() {
  add("--layers", options.layers, "encoder layers", {0, kMany}).kept();
  add("--width", options.width, "width of the model, D", {1, kMany}).kept();
  add("--heads", options.heads, "attention heads; must divide --width", {1, kMany}).kept();
  add("--feed-forward", options.feed_forward, "hidden width of the feed-forward networks",
      {1, kMany})
      .kept();
  add("--dropout", options.dropout, "dropout probability", {0, 1}).kept();
}

void Program::add_common_options() {
  add("--batch-size", options.batch_size, "examples per step", {1, kMany}).kept();
  add("--lr", options.learning_rate, "peak learning rate", {0, 1e9}).kept();
  add("--weight-decay", options.weight_decay, "weight decay of AdamW, on matrices only", {0, 1e9})
      .kept();
  add("--warmup", options.warmup, "fraction of the steps in which the learning rate rises", {0, 1})
      .kept();
  add("--clip", options.clip, "largest gradient norm; longer gradients are scaled down",
      {1e-9, 1e9})
      .kept();
  add("--shards", options.shards,
      "parts of a step, computed in turn to save memory; maximum number of processes",
      {1, nn::kMostShards})
      .kept();
  add("--seed", options.seed, "random seed").kept();

  add("--epochs", options.epochs, "passes over the examples", {1, kMany});
  add("--max-steps", options.max_steps, "maximum number of steps of this call; no limit if absent",
      {1, kMany});
  add("--gradient-checkpoint", options.gradient_checkpoint,
      "recomputation of layers in the backward pass: less memory, a third more time");
  add(save_flag_.c_str(), options.save,
      "folder for the checkpoint and the log; that of --resume if absent");
  const bool saves_models = save_flag_ != "--save";  // else of the model's folder
  add("--overwrite", options.overwrite,
      saves_models ? "replacement of an existing model in --save and checkpoint in --checkpoint"
                   : "replacement of an existing checkpoint in --save");
  add("--resume", options.resume, "folder of the checkpoint to continue from");
  add_output("--log", options.log,
             "CSV file for one line of numbers per step; log.csv in the folder of the checkpoint "
             "if absent",
             FileUse::kInPlace);
  add_output("--report", options.report,
             "HTML file for the curves of the run, updated during the run");
  for (const auto& [flag, folder] : {std::pair(save_flag_, &options.save),
                                     std::pair(std::string("--resume"), &options.resume)}) {
    add_files(flag, FileUse::kCheckpoint, [folder = folder] {
      return Paths{folder->empty() ? std::filesystem::path() : checkpoint_in(*folder)};
    });
  }
}

/// Takes over the options of a resumed run, and checks them.
void Program::prepare(bool trains) {
  if (!options.resume.empty()) resume(trains);
  const bool has_file = !options.held_out.empty(), has_share = options.held_out_share > 0;
  require(!has_file || !has_share, name().c_str(),
          "--held-out must not be combined with --held-out-share");
  require(has_file || has_share || options.patience == 0 || !trains, name().c_str(),
          "--patience must be combined with --held-out FILE or --held-out-share");
}

void Program::resume(bool trains) {
  const std::filesystem::path file = checkpoint_in(options.resume);
  if (trains && leaves_traces()) {  // locked before it is read, if this call saves there
    const std::string& folder = options.save.empty() ? options.resume : options.save;
    std::error_code error;
    if (std::filesystem::equivalent(checkpoint_in(folder), file, error)) {
      lock = tessera::lock_folder(folder, runs::kCheckpointFile);
    }
  }
  resumed = nn::load_checkpoint(file);
  if (resumed->text("program") != name()) {
    fail_file(resumed->file, "must be a checkpoint of ", name(), ", got one of ",
              printable(resumed->text("program")));
  }
  restore(*resumed);
  // Each layer has tensors: an untrusted file must not cause allocations above its size.
  if (options.layers > std::ssize(resumed->tensors)) {
    fail_file(resumed->file, "--layers must be at most ", resumed->tensors.size(),
              ", the number of tensors, got ", options.layers);
  }
  restore("--epochs", resumed->text("epochs"), resumed->file);
  if (options.save.empty()) options.save = options.resume;
}

int Program::run(int argc, char** argv, const std::function<void()>& body,
                 const std::function<bool()>& trains) {
  prepare_ = [&] { prepare(trains()); };
  return Command::run(argc, argv, body);
}

nn::Checkpoint Program::settings() const {
  nn::Checkpoint checkpoint = kept_values();
  checkpoint.set("program", name());
  checkpoint.set("epochs", options.epochs);
  return checkpoint;
}

void check_size(const Program& program, index_t rows, index_t positions, bool is_trained) {
  constexpr index_t kMostPositions = 1 << 26;  // 512 MiB in float64
  const TrainingOptions& o = program.options;
  const auto width = static_cast<double>(o.width);
  const double count =
      static_cast<double>(rows) * width +
      static_cast<double>(o.layers) * width * (4 * width + 2 * static_cast<double>(o.feed_forward));
  const std::string options =
      str_cat("--layers ", o.layers, ", --width ", o.width, ", --feed-forward ", o.feed_forward,
              " and ", rows, " vectors for tokens, positions and classes");
  if (program.resumed) {
    double stored = 0;
    for (const auto& [name, tensor] : program.resumed->tensors) {
      if (name.starts_with("model.")) stored += static_cast<double>(tensor.count());
    }
    if (count > stored) {
      fail_file(program.resumed->file, "the model must have at least the ", count, " numbers of ",
                options, ", got ", stored);
    }
  }
  const double copies = is_trained ? 4 : 1;  // with gradients and AdamW's two moments
  const double bytes = sizeof(float) * count * copies;
  const auto there = static_cast<double>(machine_memory());
  const auto gigabytes = [](double n) {
    return str_cat(static_cast<std::int64_t>(n / 1e9) + 1, " GB");
  };
  require(bytes <= there, program.name().c_str(), "the model must fit into ", gigabytes(there),
          " of memory and swap, got ", gigabytes(bytes), " of ",
          is_trained ? "weights, gradients and moments" : "weights", " for ", options,
          "; choose a smaller model");
  require(positions <= kMostPositions / o.width, program.name().c_str(),
          "tokens of a text times --width must be at most ", kMostPositions, ", got ", positions,
          " x ", o.width);
}

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

bool has_whole_units(const std::string& name) {
  return name == "words" || name == "characters";
}

std::unique_ptr<text::Tokenizer> named_tokenizer(const std::string& name,
                                                 std::span<const std::string> texts,
                                                 text::VocabularyOptions options) {
  const std::vector<std::string> kinds = text::tokenizer_kinds();
  if (std::ranges::find(kinds, name) != kinds.end()) {
    if (options.max_size == 0 && !has_whole_units(name)) options.max_size = 8000;
    const ProfileScope scope("learn tokenizer");
    return text::make_tokenizer(name, texts, options);
  }
  require(std::filesystem::exists(name), "--tokenizer", "must be ", kTokenizerHelp, ", got ",
          printable(name));
  auto tokenizer = text::load_tokenizer(name);
  const text::SpecialTokens& special = tokenizer->special();
  require(special.pad && special.unknown && special.cls && special.mask, "--tokenizer",
          printable(name), " must have tokens for padding, unknown, first and mask, got no ",
          !special.pad       ? "padding"
          : !special.unknown ? "unknown"
          : !special.cls     ? "first"
                             : "mask",
          " token");
  return tokenizer;
}

std::string said(const nn::LossTotals& totals, bool has_accuracy) {
  if (!has_accuracy) return "error " + decimals(std::sqrt(totals.mean()), 4);
  return "loss " + decimals(totals.mean(), 4) + "  accuracy " + decimals(totals.accuracy(), 4);
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
  bar_.clear();
  if (!ending.is_stopped()) {
    if (!ending.text.empty()) std::cout << ending.text << std::endl;
    return true;
  }
  std::cout << ending.text;
  if (options_.save.empty()) std::cout << "; nothing is saved without " << program_.save_flag();
  if (program_.is_given("--attention")) std::cout << "; --attention is not written before the end";
  std::cout << std::endl;
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
  bar_.clear();
  std::cout << "epoch " << report.epoch + 1 << '/' << options_.epochs << "  " << summary << "  "
            << decimals(static_cast<double>(run_->length()) / seconds, 0) << " tokens/s  "
            << clock_time(seconds) << std::endl;
  shown_ = std::chrono::steady_clock::now();
}

/// A bar on standard output if it is a terminal; otherwise a line every ten seconds.
void Training::show(double loss) {
  constexpr std::chrono::seconds kLineInterval{10};
  constexpr std::size_t kCells = 20;
  const index_t batches = trainer_->steps_per_epoch();
  const index_t position = trainer_->step() % batches;
  if (position == 0) return;  // the epoch prints its own line
  const double share = static_cast<double>(position) / static_cast<double>(batches);
  const auto line = [&](std::size_t columns) {
    const auto done = static_cast<double>(trainer_->step() - run_->first_step());
    const auto left = static_cast<double>(trainer_->total_steps() - trainer_->step());
    const double seconds = run_->seconds();
    const std::string epoch = str_cat("epoch ", trainer_->epoch() + 1, "/", options_.epochs, "  ");
    const std::string rest = str_cat(decimals(100 * share, 0), " %  loss ", decimals(loss, 4), "  ",
                                     decimals(static_cast<double>(run_->length()) / seconds, 0),
                                     " tokens/s  ", clock_time(seconds / done * left), " left");
    const std::size_t text = epoch.size() + 1 + rest.size();  // the bar takes what remains
    const std::size_t cells = std::min(kCells, columns - std::min(columns, text));
    const auto full = static_cast<std::size_t>(share * static_cast<double>(cells));
    const std::string bar = std::string(full, '#') + std::string(cells - full, '.');
    return epoch + bar + (bar.empty() ? "" : " ") + rest;
  };
  if (bar_.draw(line)) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - shown_ < kLineInterval) return;
  shown_ = now;
  std::cout << line(0) << std::endl;
}

}  // namespace tessera::examples
