#include "examples/programs/program.h"

#include <CLI/CLI.hpp>
#include <concepts>
#include <filesystem>
#include <limits>
#include <system_error>

#include "examples/programs/command_line.h"
#include "examples/programs/interrupts.h"
#include "examples/programs/option_checks.h"
#include "examples/programs/processes.h"
#include "nn/training/shards.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

constexpr const char* kPrefix = "option.";

/// Reads the option from `text`, as if that stood on the command line, and checks it.
void parse_again(CLI::Option* option, const std::string& text, const std::string& file) {
  option->clear();
  option->add_result(text);
  try {
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    fail_file(file, error.what());
  }
}

void get(const nn::Checkpoint& from, const std::string& name, double& value) {
  value = from.number(name);
}
void get(const nn::Checkpoint& from, const std::string& name, std::string& value) {
  value = from.text(name);
}
template <std::integral T>
void get(const nn::Checkpoint& from, const std::string& name, T& value) {
  value = from.integer<T>(name);
}

}  // namespace

struct Program::CommandLine {
  /// An option of the run: how a checkpoint gets it and gives it back.
  struct Setting {
    CLI::Option* option;
    std::function<void(nn::Checkpoint&, const std::string&)> store;
    std::function<bool(const nn::Checkpoint&, const std::string&)> restore;
  };

  CLI::App app;
  std::vector<Setting> settings;

  template <class T>
  void add(const char* flag, T& value, const char* what, const CLI::Validator& check) {
    CLI::Option* option = app.add_option(flag, value, what)->capture_default_str()->check(check);
    settings.push_back(
        {option, [&value](nn::Checkpoint& to, const std::string& name) { to.set(name, value); },
         [&value, option](const nn::Checkpoint& from, const std::string& name) {
           const T given = value;
           parse_again(option, from.text(name), from.file);
           get(from, name, value);
           return given == value;
         }});
  }
};

Program::Program(std::string name, const std::string& description, const TrainingOptions& defaults,
                 Trains trains)
    : options(defaults),
      name_(std::move(name)),
      save_flag_(trains == Trains::kNewModel ? "--save" : "--checkpoint"),
      line_(new CommandLine{.app = CLI::App(description, name_), .settings = {}}) {
  line_->app.get_formatter()->column_width(34);
  line_->app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  if (trains == Trains::kNewModel) add_model_options();
  add_common_options();
}

Program::~Program() = default;

void Program::add(const char* flag, index_t& value, const char* what, Range<index_t> range) {
  line_->add(flag, value, what, between(range));
}

void Program::add(const char* flag, double& value, const char* what, Range<double> range) {
  line_->add(flag, value, what, between(range));
}

void Program::add(const char* flag, std::uint64_t& value, const char* what) {
  line_->add(flag, value, what,
             between(Range<std::uint64_t>{0, std::numeric_limits<std::uint64_t>::max()}));
}

void Program::add(const char* flag, std::string& value, const char* what,
                  const std::vector<std::string>& choices) {
  line_->add(flag, value, what, one_of(choices));
}

void Program::add(const char* flag, std::string& value, const char* what) {
  line_->add(flag, value, what, not_empty());
  files_.add_input(flag, value);
}

void Program::add_for_call(const char* flag, std::string& value, const char* what) {
  line_->app.add_option(flag, value, what)->check(not_empty());
}

void Program::add_for_call(const char* flag, bool& value, const char* what) {
  line_->app.add_flag(flag, value, what);
}

void Program::add_input(const char* flag, std::string& value, const char* what) {
  add_for_call(flag, value, what);
  files_.add_input(flag, value);
}

void Program::add_output(const char* flag, std::string& value, const char* what, Output how) {
  add_for_call(flag, value, what);
  files_.add_output(flag, value, how);
}

void Program::add_held_out(std::string& file, double& share) {
  add_input("--valid", file, "file of held-out lines, evaluated after each epoch");
  add("--valid-share", share, "fraction of --train to hold out instead", {0, 0.9});
  add("--patience", options.patience,
      "epochs without a better evaluation after which the run ends; 0: no limit", {0, 1'000'000});
}

void Program::add_model_options() {
  add("--layers", options.layers, "encoder layers", {0, kMany});
  add("--width", options.width, "width of the model, D", {1, kMany});
  add("--heads", options.heads, "attention heads; must divide --width", {1, kMany});
  add("--feed-forward", options.feed_forward, "hidden width of the feed-forward networks",
      {1, kMany});
  add("--dropout", options.dropout, "dropout probability", {0, 1});
}

void Program::add_common_options() {
  add("--batch", options.batch_size, "examples per step", {1, kMany});
  add("--lr", options.learning_rate, "peak learning rate", {0, 1e9});
  add("--weight-decay", options.weight_decay, "weight decay of AdamW, on matrices only", {0, 1e9});
  add("--warmup", options.warmup, "fraction of the steps in which the learning rate rises", {0, 1});
  add("--clip", options.clip, "largest gradient norm; longer gradients are scaled down",
      {1e-9, 1e9});
  add("--shards", options.shards,
      "parts of a step, computed in turn to save memory; also the most processes",
      {1, nn::kMostShards});
  add("--seed", options.seed, "random seed");

  const Range<index_t> positive = {1, kMany};
  CLI::App& app = line_->app;
  app.add_option("--epochs", options.epochs, "passes over the examples")
      ->check(between(positive))
      ->capture_default_str();
  app.add_option("--max-steps", options.max_steps,
                 "steps after which this call stops; no limit if absent")
      ->check(between(positive));
  add_threads(app, threads_);
  add_for_call("--checkpoint-layers", options.checkpoint_layers,
               "recomputation of layers in the backward pass: less memory, a third more time");
  add_for_call(save_flag_.c_str(), options.save,
               "folder for the checkpoint; that of --resume if absent");
  const bool saves_models = save_flag_ != "--save";  // the model's folder has that flag
  add_for_call("--overwrite", options.overwrite,
               saves_models ? "replace the model in --save and the checkpoint in --checkpoint"
                            : "replace the checkpoint in --save");
  add_for_call("--resume", options.resume, "folder of the checkpoint to continue from");
  add_output("--log", options.log, "CSV file for one line of numbers per step", Output::kInPlace);
  add_output("--report", options.report,
             "HTML file for the curves of the run, updated during the run");
  files_.add_checkpoint(save_flag_, options.save, kCheckpointFile);
  files_.add_checkpoint("--resume", options.resume, kCheckpointFile);
}

/// Locks the folder that this call saves to, if its checkpoint is the one to be loaded.
void Program::lock_folder(const std::filesystem::path& checkpoint) {
  const std::string& folder = options.save.empty() ? options.resume : options.save;
  std::error_code error;
  const std::filesystem::path saved = std::filesystem::path(folder) / kCheckpointFile;
  if (!std::filesystem::equivalent(saved, checkpoint, error)) return;
  lock = lock_of_checkpoints(folder, kCheckpointFile);
}

void Program::resume(bool trains) {
  const std::filesystem::path file = std::filesystem::path(options.resume) / kCheckpointFile;
  from_first([&] {  // all processes get its errors
    if (trains) lock_folder(file);
    return std::string();
  });
  resumed = nn::load_checkpoint(file);
  if (resumed->text("program") != name_) {
    fail_file(resumed->file, "must be a checkpoint of ", name_, ", got one of ",
              printable(resumed->text("program")));
  }
  for (const CommandLine::Setting& setting : line_->settings) {
    const std::string name = setting.option->get_name();
    const std::vector<std::string> given = setting.option->results();
    const bool same = setting.restore(*resumed, kPrefix + name.substr(2));
    if (!same && !given.empty()) {
      fail_file(resumed->file, name, " must be ", resumed->text(kPrefix + name.substr(2)),
                ", as at the start of the run, got ", given.back());
    }
  }
  // Each layer has tensors: what a file claims costs no more memory than its size allows.
  if (options.layers > std::ssize(resumed->tensors)) {
    fail_file(resumed->file, "--layers must be at most ", resumed->tensors.size(),
              ", the number of tensors, got ", options.layers);
  }
  CLI::Option* const epochs = line_->app.get_option("--epochs");
  if (epochs->count() == 0) parse_again(epochs, resumed->text("epochs"), resumed->file);
  if (options.save.empty()) options.save = options.resume;
}

std::vector<std::pair<std::string, std::string>> Program::values() const {
  return options_of(line_->app);
}

nn::Checkpoint Program::settings() const {
  nn::Checkpoint checkpoint;
  checkpoint.set("program", name_);
  checkpoint.set("epochs", options.epochs);
  for (const CommandLine::Setting& setting : line_->settings) {
    setting.store(checkpoint, kPrefix + setting.option->get_name().substr(2));
  }
  return checkpoint;
}

int Program::run(int argc, char** argv, const std::function<void()>& body,
                 const std::function<bool()>& trains) {
  constexpr const char* kAdvice = "; a smaller --batch or shorter texts take less";
  int stopped = 0;
  const int code = run_command_line(line_->app, argc, argv, name_, kAdvice, [&] {
    set_threads(threads_);
    if (!options.resume.empty()) resume(trains());
    files_.check(name_);
    try {
      body();
    } catch (const StoppedBySignal& by) {
      stopped = 128 + by.signal;
    }
  });
  return stopped != 0 ? stopped : code;
}

}  // namespace tessera::examples
