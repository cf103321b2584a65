// The common parts of training programs beyond runs::Run: options from a command line, and the
// output for users. If mpirun starts several processes, they train together, and only rank 0
// writes.
//
//   return program.run(argc, argv, [&] {
//     Model model(...);
//     Training training(program, model, {.train = {lengths, loss, digest}});
//     if (!training.run()) return;       // stopped before the end
//     training.take_trained(model);
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/program.h"
#include "examples/programs/progress.h"
#include "models/pages/training_page.h"
#include "models/runs/run.h"
#include "models/token_encoder.h"
#include "nn/training/checkpoint.h"
#include "nn/training/optim.h"
#include "nn/training/trainer.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/profile_span.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::examples {

/// The encoder described by the options, pre-norm, with GELU.
models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocabulary_size);

/// **Errors**: std::runtime_error with the file's name: fewer than two labels.
void require_classes(const std::string& file, const std::vector<std::string>& labels);

/// Moves the random share of `all` that --held-out-share holds out. **Errors**: none is held out.
template <class T>
std::vector<T> hold_out(const Program& program, std::vector<T>& all) {
  constexpr std::uint64_t kStream = 3;
  Rng rng(program.options.seed, kStream);
  const Tensor drawn = permutation(std::ssize(all), rng);
  const std::vector<index_t> order = drawn.to_vector<index_t>();
  const double share = program.options.held_out_share;
  const auto count = static_cast<index_t>(share * static_cast<double>(all.size()));
  require(count > 0, program.name().c_str(), "--held-out-share must hold out at least 1 of ",
          all.size(), " examples, got ", share);
  std::vector<T> held, kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    (order[i] < count ? held : kept).push_back(std::move(all[i]));
  }
  all = std::move(kept);
  return held;
}

/// The data of a training, and the format of its progress.
struct TrainingTask {
  nn::Examples train;
  nn::Examples held_out = {};  // evaluated after each epoch
  nn::Checkpoint notes = {};   // the program's own part of checkpoints
  bool keep_best = true;       // the weights of the best evaluation
  bool has_accuracy = true;    // predictions are right or wrong; otherwise they are numbers
  nn::BestBy best_by = nn::BestBy::kLoss;
  /// The text of the line at the end of an epoch; if absent, by said().
  std::function<std::string(const nn::EpochReport&)> summary = {};
};

/// Losses as text: their mean and the accuracy, or, without `has_accuracy`, the error as a standard
/// deviation.
std::string said(const nn::LossTotals& totals, bool has_accuracy = true);

/// Training by AdamW, with a learning rate that rises and falls linearly.
class Training {
 public:
  /// Trains all parameters of `model`; continues from the program's checkpoint, if there is one.
  /// `program` must outlive this object.
  template <class Model>
  Training(const Program& program, Model& model, TrainingTask task)
      : Training(program, model, groups_of(model), std::move(task)) {}
  /// The same for these parameters, which must be all variables of `model`; a group may have its
  /// own rate.
  template <class Model>
  Training(const Program& program, Model& model, std::vector<nn::ParameterGroup> groups,
           TrainingTask task)
      : Training(program, std::move(groups), std::move(task)) {
    const ProfileScope scope("make trainer");
    trainer_.emplace(model, optimizer_, task_.train, trainer_options(), task_.held_out);
    begin(nn::parameter_count(model));
  }

  /// Trains to the end, or until a signal or max_steps stops it; true if it reached the end.
  /// Saves after each epoch and when it stops. **Errors**: StoppedBySignal, after saving.
  bool run();

  /// Loads the final weights into the model: the best ones, if they are known.
  template <class Model>
  void take_trained(Model& model) const {
    nn::load_trained(trainer_->weights(), model);
  }

  /// Whether --report is given.
  bool has_report() const { return !options_.report.empty(); }
  /// Adds the confusion matrix of a trained model to the page.
  void report(pages::ConfusionMatrix classes) { run_->report(std::move(classes)); }

 private:
  Training(const Program& program, std::vector<nn::ParameterGroup> groups, TrainingTask task);
  template <class Model>
  static std::vector<nn::ParameterGroup> groups_of(Model& model) {
    nn::set_requires_grad(model);
    return nn::split_weight_decay(model);
  }

  void check_processes(const nn::Checkpoint& base) const;
  nn::TrainerOptions trainer_options() const;
  void begin(index_t parameters);
  std::shared_ptr<const FileLock> lock_of_folder() const;
  void say(const nn::EpochReport& report);
  void show(double loss);

  const Program& program_;
  const TrainingOptions& options_;  // of the program
  TrainingTask task_;
  nn::AdamW optimizer_;
  std::optional<nn::Trainer> trainer_;
  std::optional<runs::Run> run_;
  Progress progress_;
};

}  // namespace tessera::examples
