// What the training programs share: the loop, its checkpoints, its log.
//
//   return program.run(argc, argv, [&] {
//     Model model(...);
//     Training training(program, model, lengths, digest);
//     training.run({.loss = [&](std::span<const index_t> chosen) { ... }});
//   });
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "examples/program.h"
#include "examples/progress.h"
#include "models/text/batches.h"
#include "models/token_encoder.h"
#include "nn/training/batch_sampler.h"
#include "nn/training/checkpoint.h"
#include "nn/training/lr_scheduler.h"
#include "nn/training/optim.h"
#include "tensor/error.h"

namespace tessera::examples {

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
  nn::BatchSampler sampler_;
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
std::uint64_t digest_of(std::span<const text::Example> examples);

}  // namespace tessera::examples
