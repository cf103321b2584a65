#include "examples/programs/training.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <tessera/models/text/tokenizers.h>
#include <tessera/nn/training/shards.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/file.h>
#include <tessera/tensor/kernels/dispatch.h>
#include <tessera/tensor/kernels/parallel.h>
#include <tessera/tensor/profile_span.h>
#include <tessera/tensor/storage.h>
#include "examples/programs/processes.h"

namespace tessera::examples {

namespace {

/// The checkpoint file in the folders of --save and --resume.
std::filesystem::path checkpoint_in(const std::string& folder) {
  return std::filesystem::path(folder) / runs::kCheckpointFile;
}

/// The progress of a training: a line on standard output that is redrawn if it is a terminal, and
/// otherwise a line every ten seconds; and a line per epoch.
class TrainingProgress {
 public:
  TrainingProgress(const runs::Run& run, const nn::Trainer& trainer, const Training& training)
      : run_(run), trainer_(trainer), training_(training) {}

  void step(double loss) {
    constexpr std::chrono::seconds kLineInterval{10};
    const index_t position = trainer_.step() % trainer_.steps_per_epoch();
    if (position == 0) return;  // the epoch prints its own line
    const auto text = [&] { return line(position, loss); };
    if (status_.draw(text)) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < kLineInterval) return;
    shown_ = now;
    std::cout << text() << std::endl;
  }

  void epoch(const nn::EpochReport& report) {
    std::string summary =
        training_.summary ? training_.summary(report) : said(report.totals, training_.has_accuracy);
    if (!training_.summary && report.evaluation) {
      summary += "  held out: " + said(report.evaluation->totals, training_.has_accuracy);
      if (report.evaluation->is_best) summary += ", the best";
    }
    status_.clear();
    std::cout << name_of(report.epoch) << summary << "  " << speed() << "  "
              << clock_time(run_.seconds()) << std::endl;
    shown_ = std::chrono::steady_clock::now();
  }

  void clear() { status_.clear(); }

 private:
  std::string name_of(index_t epoch) const {
    return str_cat("epoch ", epoch + 1, "/", trainer_.options().epochs, "  ");
  }
  std::string speed() const {
    return decimals(static_cast<double>(run_.length()) / run_.seconds(), 0) + " tokens/s";
  }
  std::string line(index_t position, double loss) const {
    const auto share =
        static_cast<double>(position) / static_cast<double>(trainer_.steps_per_epoch());
    const auto done = static_cast<double>(trainer_.step() - run_.first_step());
    const auto left = static_cast<double>(trainer_.total_steps() - trainer_.step());
    return str_cat(name_of(trainer_.epoch()), decimals(100 * share, 0), " %  loss ",
                   decimals(loss, 4), "  ", speed(), "  ", clock_time(run_.seconds() / done * left),
                   " left");
  }

  const runs::Run& run_;
  const nn::Trainer& trainer_;
  const Training& training_;
  StatusLine status_{1};
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

}  // namespace

TrainingCommand::TrainingCommand(std::string name, const std::string& description,
                                 const TrainingOptions& defaults, Trains trains)
    : Command(std::move(name), description),
      options(defaults),
      save_flag_(trains == Trains::kNewModel ? "--save" : "--checkpoint") {
  advice_ = "; a smaller --batch-size or shorter texts take less";
  shares_work_ = true;
  if (trains == Trains::kNewModel) add_model_options();
  add("--epochs", options.epochs, "passes over the examples", {1, kMany}, kKeptUnlessGiven);
  add("--batch-size", options.batch_size, "examples per step", {1, kMany}, kKept);
  add("--lr", options.learning_rate, "peak learning rate", {0, 1e9}, kKept);
  add("--weight-decay", options.weight_decay, "weight decay of AdamW, on matrices only", {0, 1e9},
      kKept);
  add("--warmup", options.warmup, "fraction of the steps in which the learning rate rises", {0, 1},
      kKept);
  add("--clip", options.clip, "maximum gradient norm; larger gradients are scaled down",
      {1e-9, 1e9}, kKept);
  add("--shards", options.shards,
      "parts of a step, computed in turn to save memory; maximum number of processes",
      {1, nn::kMostShards}, kKept);
  add("--seed", options.seed, "random seed", kKept);
  add("--max-steps", options.max_steps, "maximum number of steps of this call; no limit if absent",
      {1, kMany});
  add("--gradient-checkpoint", options.gradient_checkpoint,
      "recomputation of layers in the backward pass: less memory, a third more time");
  add_file_options();
}

void TrainingCommand::add_held_out() {
  add_input("--held-out", options.held_out, "file of held-out lines, evaluated after each epoch");
  add("--held-out-share", options.held_out_share,
      "fraction of --train to hold out instead of --held-out", {0, 0.9}, kKept);
  add("--patience", options.patience,
      "epochs without a better evaluation after which the run ends; 0: no limit", {0, 1'000'000},
      kKept);
}

void TrainingCommand::add_model_options() {
  add("--layers", options.layers, "encoder layers", {0, kMany}, kKept);
  add("--width", options.width, "width of the model, D", {1, kMany}, kKept);
  add("--heads", options.heads, "attention heads; must divide --width", {1, kMany}, kKept);
  add("--feed-forward", options.feed_forward, "hidden width of the feed-forward networks",
      {1, kMany}, kKept);
  add("--dropout", options.dropout, "dropout probability", {0, 1}, kKept);
}

void TrainingCommand::add_file_options() {
  const bool saves_models = save_flag_ != "--save";  // else of the model's folder
  add(save_flag_.c_str(), options.save,
      "folder for the checkpoint and the log; that of --resume if absent");
  add("--overwrite", options.overwrite,
      saves_models ? "replacement of an existing model in --save and checkpoint in --checkpoint"
                   : "replacement of an existing checkpoint in --save");
  add("--resume", options.resume, "folder of the checkpoint to continue from");
  add_output("--log", options.log,
             "CSV file for one line of numbers per step; log.csv in the folder of the checkpoint "
             "if absent",
             kOptional, FileUse::kInPlace);
  add_output("--report", options.report,
             "HTML file for the curves of the run, updated during the run");
  const auto add_checkpoint = [&](const std::string& flag, const std::string& folder) {
    add_files(flag, FileUse::kCheckpoint, [&folder] {
      return Paths{folder.empty() ? std::filesystem::path() : checkpoint_in(folder)};
    });
  };
  add_checkpoint(save_flag_, options.save);
  add_checkpoint("--resume", options.resume);
}

int TrainingCommand::run(int argc, char** argv, const std::function<void()>& body,
                         const std::function<bool()>& trains) {
  prepare_ = [&] { prepare(trains()); };
  const int code = Command::run(argc, argv, body);
  const bool had_lock = std::exchange(lock_, nullptr) != nullptr;
  if (had_lock && made_folder_) rmdir(options.save.c_str());  // if nothing is in there
  return code;
}

/// Takes over the options of a resumed run, and checks them.
void TrainingCommand::prepare(bool trains) {
  if (options.save.empty()) options.save = options.resume;
  // Before a checkpoint is read: this run would replace a newer one that another run saves.
  if (trains && leaves_traces() && !options.save.empty()) lock_save();
  if (!options.resume.empty()) resume();
  const bool has_file = !options.held_out.empty(), has_share = options.held_out_share > 0;
  require(!has_file || !has_share, name().c_str(),
          "--held-out must not be combined with --held-out-share");
  require(has_file || has_share || options.patience == 0 || !trains, name().c_str(),
          "--patience must be combined with --held-out FILE or --held-out-share");
}

/// **Errors**: another run uses the folder, or has saved there without --overwrite.
void TrainingCommand::lock_save() {
  const std::filesystem::path file = checkpoint_in(options.save);
  std::error_code error;
  const bool exists = std::filesystem::exists(file, error);
  const bool continues =
      !options.resume.empty() && is_same_file(file, checkpoint_in(options.resume));
  if (continues && !exists) return;  // resume() fails
  made_folder_ = !std::filesystem::exists(options.save, error);
  lock_ = lock_folder(options.save, runs::kCheckpointFile);
  if (!exists || continues || options.overwrite) return;
  fail_file(file.string(), "must not exist, but contains a saved run; continue with --resume ",
            options.save, ", or replace it with --overwrite");
}

void TrainingCommand::resume() {
  resumed = nn::load_checkpoint(checkpoint_in(options.resume));
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
}

void TrainingCommand::check_size(index_t rows, index_t positions, bool is_trained) const {
  constexpr index_t kMostPositions = 1 << 26;  // 512 MiB in float64
  const TrainingOptions& o = options;
  const auto width = static_cast<double>(o.width);
  const double count =
      static_cast<double>(rows) * width +
      static_cast<double>(o.layers) * width * (4 * width + 2 * static_cast<double>(o.feed_forward));
  const std::string sizes =
      str_cat("--layers ", o.layers, ", --width ", o.width, ", --feed-forward ", o.feed_forward,
              " and ", rows, " vectors for tokens, positions and classes");
  if (resumed) {
    double stored = 0;
    for (const auto& [name, tensor] : resumed->tensors) {
      if (name.starts_with("model.")) stored += static_cast<double>(tensor.count());
    }
    if (count > stored) {
      fail_file(resumed->file, "the model must have at least the ", count, " numbers of ", sizes,
                ", got ", stored);
    }
  }
  const double copies = is_trained ? 4 : 1;  // with gradients and AdamW's two moments
  const double bytes = sizeof(float) * count * copies;
  const auto there = static_cast<double>(machine_memory());
  const auto gigabytes = [](double n) {
    return str_cat(static_cast<std::int64_t>(n / 1e9) + 1, " GB");
  };
  require(bytes <= there, name().c_str(), "the model must fit into ", gigabytes(there),
          " of memory and swap, got ", gigabytes(bytes), " of ",
          is_trained ? "weights, gradients and moments" : "weights", " for ", sizes,
          "; choose a smaller model");
  require(positions <= kMostPositions / o.width, name().c_str(),
          "tokens of a text times --width must be at most ", kMostPositions, ", got ", positions,
          " x ", o.width);
}

void require_classes(const std::string& file, const std::vector<std::string>& labels) {
  if (labels.size() > 1) return;
  fail_file(file, "labels must be at least 2 different ones, got only ", printable(labels.front()));
}

models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocab_size) {
  return {.vocab_size = vocab_size,
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
  for (const auto& [token, what] :
       {std::pair(special.pad, "padding"), std::pair(special.unknown, "unknown words"),
        std::pair(special.cls, "the start of a text"), std::pair(special.mask, "masks")}) {
    require(token.has_value(), "--tokenizer", printable(name), " must have a token for ", what,
            ", got none");
  }
  return tokenizer;
}

std::string said(const nn::LossTotals& totals, bool has_accuracy) {
  if (!has_accuracy) return "error " + decimals(std::sqrt(totals.mean()), 4);
  return "loss " + decimals(totals.mean(), 4) + "  accuracy " + decimals(totals.accuracy(), 4);
}

/// The start of a checkpoint: the program's name and the run's options.
nn::Checkpoint TrainingCommand::notes() const {
  nn::Checkpoint notes = kept_values();
  notes.set("program", name());
  return notes;
}

/// Throws if there are too many processes, or if they have different options. The trainer compares
/// their examples and weights.
void TrainingCommand::check_processes() const {
  const index_t size = processes().size();
  const std::string cure =
      resumed ? "; the run started with these shards, use fewer processes"
              : str_cat("; start fewer, or take --shards ", size, ", which changes the result");
  require(size <= options.shards, name().c_str(), "processes must be at most --shards ",
          options.shards, ", got ", size, cure);
  for (const auto& [option, value] : notes().values) {
    nn::require_same(processes(), name().c_str(), option, value);
  }
}

nn::TrainerOptions TrainingCommand::trainer_options(const Training& training) const {
  return {.epochs = options.epochs,
          .batch_size = options.batch_size,
          .shards = options.shards,
          .seed = options.seed,
          .lr_decay = nn::LrDecay::kLinear,
          .warmup_ratio = options.warmup,
          .max_grad_norm = options.clip,
          .patience = options.patience,
          .best_by = training.best_by,
          .keep_best = training.keep_best,
          .communicator = &processes()};
}

runs::RunOptions TrainingCommand::run_options(const Training& training, index_t parameters) const {
  nn::Checkpoint all = training.notes;
  for (const auto& [note, value] : notes().values) all.set(note, value);
  return {.folder = options.save,
          .log = options.log,
          .report = options.report,
          .max_steps = options.max_steps,
          .has_accuracy = training.has_accuracy,
          .notes = std::move(all),
          .page = {.title = name(),
                   .options = values(false),
                   .defaults = values(true),
                   .machine = {{"processes", str_cat(processes().size())},
                               {"threads of a process", str_cat(thread_count())},
                               {"instruction set", current_isa()},
                               {"begun", utc_now("%Y-%m-%d %H:%M:%S UTC")},
                               {"parameters", str_cat(parameters)},
                               {"examples", str_cat(training.train.lengths.size())},
                               {"held-out examples", str_cat(training.held_out.lengths.size())}}},
          .cure = "continue with --resume " + options.save,
          .owns_folder = true,
          .lock = lock_,
          .resumed = resumed ? &*resumed : nullptr};
}

/// Trains to the end, or until a signal or --max-steps stops it; true if it reached the end.
bool TrainingCommand::finish(runs::Run& run, const nn::Trainer& trainer,
                             const Training& training) const {
  TrainingProgress progress(run, trainer, training);
  const runs::RunResult ending =
      run.train({.step = [&](const nn::StepReport& report) { progress.step(report.totals.mean()); },
                 .epoch = [&](const nn::EpochReport& report) { progress.epoch(report); }});
  progress.clear();
  std::cout << ending.text;
  if (ending.is_stopped() && options.save.empty()) {
    std::cout << "; nothing is saved without " << save_flag_;
  }
  if (!ending.text.empty()) std::cout << std::endl;
  if (ending.signal != 0) throw StoppedBySignal{ending.signal};
  return !ending.is_stopped();
}

}  // namespace tessera::examples
