// What the training programs share: options, the loop, checkpoints, errors.
//
//   Program program("train_thing", "Trains a thing.", {.epochs = 10});
//   program.add("--colour", colour, "of the thing");
//   return program.run(argc, argv, [&] {
//     Model model(...);
//     Training training(program, model, lengths, digest);
//     training.run({.loss = [&](std::span<const index_t> chosen) { ... }});
//   });
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "examples/progress.h"
#include "models/batches.h"
#include "models/token_encoder.h"
#include "nn/checkpoint.h"
#include "nn/lr_scheduler.h"
#include "nn/optim.h"
#include "tensor/error.h"

namespace tessera::examples {

/// A check of numbers whose bounds the help does not spell out. NaN is in no range.
template <class T>
CLI::Validator between(T low, T high) {
  const auto check = [low, high](const std::string& text) {
    T value{};
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high)
      return std::string();
    return format(text, " is not in the range ", low, " to ", high);
  };
  return CLI::Validator(check, "");
}

/// The options of every program, with the defaults of a small text.
struct TrainingOptions {
  index_t layers = 2;
  index_t width = 128;
  index_t heads = 4;
  index_t feed_forward = 512;
  double dropout = 0.1;
  index_t epochs = 10;
  index_t batch_size = 32;
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double warmup = 0.1;  // the share of the steps in which the learning rate rises
  double clip = 1;      // the largest norm of the gradient
  std::uint64_t seed = 0;

  // Where and how long, which a resumed run may choose anew.
  index_t max_steps = 0;           // of this call; 0: no limit
  bool checkpoint_layers = false;  // compute layers again in the backward: the same bits
  std::string save = "";
  std::string resume = "";
  std::string log = "";
};

/// The file in the folders that --save and --resume name.
inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";

/// A command line, and what becomes of errors: one line on standard error and exit code 2.
class Program {
 public:
  Program(std::string name, const std::string& description, const TrainingOptions& defaults);

  /// Adds an option that belongs to the run: checkpoints hold it, and a resumed run takes it from
  /// there, with the same checks. Giving it another value then is an error.
  template <class T>
  CLI::Option* add(const std::string& flag, T& value, const std::string& what) {
    CLI::Option* option = app.add_option(flag, value, what)->capture_default_str();
    if constexpr (std::is_unsigned_v<T>) option->check(natural());
    settings_.push_back(
        {option, [&value](nn::Checkpoint& to, const std::string& name) { to.set(name, value); },
         [&value, option](const nn::Checkpoint& from, const std::string& name) {
           const T given = value;
           parse_again(option, from.text(name), from.file);
           get(from, name, value);
           return given == value;
         }});
    return option;
  }

  /// Parses the command line, loads the checkpoint that --resume names, takes the run's options
  /// from it, and calls `body`.
  int run(int argc, char** argv, const std::function<void()>& body);

  /// The start of a checkpoint: whose it is, and the run's options.
  nn::Checkpoint settings() const;

  CLI::App app;
  TrainingOptions options;
  std::optional<nn::Checkpoint> resumed;

 private:
  struct Setting {
    CLI::Option* option;
    std::function<void(nn::Checkpoint&, const std::string&)> store;
    std::function<bool(const nn::Checkpoint&, const std::string&)> restore;
  };

  /// Refuses a sign, which some versions of CLI11 take for a large number.
  static CLI::Validator natural();
  /// Reads the option from `text`, as if that stood on the command line, and checks it.
  static void parse_again(CLI::Option* option, const std::string& text, const std::string& file);
  static void get(const nn::Checkpoint& from, const std::string& name, double& value) {
    value = from.number(name);
  }
  static void get(const nn::Checkpoint& from, const std::string& name, std::string& value) {
    value = from.text(name);
  }
  template <std::integral T>
  static void get(const nn::Checkpoint& from, const std::string& name, T& value) {
    value = from.integer<T>(name);
  }
  void add_common_options();
  void resume();

  std::string name_;
  std::vector<Setting> settings_;
};

/// What one batch gives: its loss, the mean over `count` predictions of which `correct` are right.
/// Where there are none the loss is not looked at.
struct BatchResult {
  Tensor loss;
  index_t count;
  index_t correct;
};

/// The encoder that the options describe, before normalised, with GELU.
models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocabulary_size);

/// The sums of an epoch so far.
struct EpochSums {
  double loss = 0;
  index_t count = 0;
  index_t correct = 0;

  double mean_loss() const { return loss / static_cast<double>(count); }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(count); }
};

/// What a program says of its training.
struct TrainingHooks {
  /// The loss of the chosen examples; called while a tape records.
  std::function<BatchResult(std::span<const index_t> chosen)> loss;
  /// What the line at an epoch's end says.
  std::function<std::string(const EpochSums&)> summary = {};
};

/// Training by AdamW on shuffled batches, under a learning rate that rises and falls by straight
/// lines. Everything that a step depends on is in the checkpoint, so a run that was stopped and
/// resumed ends with the same bits as one that was not.
class Training {
 public:
  /// Trains all parameters of `model` on examples of these lengths; goes on where the program's
  /// checkpoint stands, if there is one. `notes` are the program's own part of checkpoints.
  /// `digest` stands for the examples: a resumed run must have the same.
  template <class Model>
  Training(const Program& program, Model& model, std::vector<index_t> lengths, std::uint64_t digest,
           const nn::Checkpoint& notes = {})
      : Training(program, parameters_of(model), std::move(lengths), digest, notes) {}

  /// Trains to the end, or until it is interrupted (Ctrl-C) or has done max_steps; says whether it
  /// has come to the end. Saves after each epoch and when it stops.
  bool run(const TrainingHooks& hooks);

 private:
  Training(const Program& program, nn::Parameters parameters, std::vector<index_t> lengths,
           std::uint64_t digest, const nn::Checkpoint& notes);
  template <class Model>
  static nn::Parameters parameters_of(Model& model) {
    nn::set_requires_grad(model);
    return nn::parameters(model);
  }

  index_t total_steps() const;
  void step(const TrainingHooks& hooks);
  void check_finite(const char* what, double value) const;
  void save();
  void load(const nn::Checkpoint& checkpoint);
  void open_log();
  void log_step(index_t epoch, double loss, double norm, index_t tokens);
  void show(double loss);

  TrainingOptions options_;
  nn::Checkpoint base_;
  nn::Parameters parameters_;
  std::vector<index_t> lengths_;
  models::BatchSampler sampler_;
  nn::AdamW optimizer_;
  nn::LrScheduler scheduler_;
  EpochSums sums_;
  Progress progress_;
  std::chrono::steady_clock::time_point start_;
  index_t tokens_ = 0;      // of this call
  index_t first_step_ = 0;  // of this call
  std::ofstream log_;
};

/// A number that changes with every element of the examples, for Training.
std::uint64_t digest_of(std::span<const models::Example> examples);

}  // namespace tessera::examples
