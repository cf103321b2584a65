// The common part of programs that train: the options, which a resumed run takes from its
// checkpoint, the run itself, and the output for users. If mpirun starts several processes, they
// train together, and only rank 0 writes.
//
//   Program program("train_thing", "Trains a thing.", {.epochs = 10});
//   program.add("--size", size, "size of the thing", {1, 100}).kept();
//   return program.run(argc, argv, [&] {
//     Model model(...);
//     Training training(program, model, {.train = {lengths, loss, digest}});
//     if (!training.run()) return;       // stopped before the end
//     training.take_trained(model);
//   });
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/cli.h"
#include "models/pages/training_page.h"
#include "models/runs/run.h"
#include "models/text/tokenizer.h"
#include "models/token_encoder.h"
#include "nn/training/checkpoint.h"
#include "nn/training/optim.h"
#include "nn/training/trainer.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::examples {

/// The options of every program that trains; the defaults suit a small text.
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
  double warmup = 0.1;  // the fraction of steps in which the learning rate rises
  double clip = 1;      // the largest norm of the gradient
  index_t shards = 1;   // parts in which the examples of a step are computed
  // For programs that evaluate: a file of held-out lines, or the share of the training lines to
  // hold out; and the epochs without a better evaluation after which the run ends.
  std::string held_out = "";
  double held_out_share = 0;
  index_t patience = 0;
  std::uint64_t seed = 0;

  // Options of each call, which a resumed run may change.
  index_t max_steps = 0;             // of this call; 0: no limit
  bool gradient_checkpoint = false;  // compute layers again in the backward pass: the same bits
  bool overwrite = false;            // replace the saved state of another run
  std::string save = "";
  std::string resume = "";
  std::string log = "";
  std::string report = "";
};

/// The kind of model that a program trains. A new model has its sizes from options, and --save
/// writes it as a checkpoint. A pretrained model comes from a folder, and --save writes a folder;
/// --checkpoint adds checkpoints.
enum class Trains { kNewModel, kPretrained };

/// A command line whose kept options belong to a run: checkpoints contain them, and a resumed run
/// takes them from there. A different value on the command line is then an error.
class Program final : public Command {
 public:
  Program(std::string name, const std::string& description, const TrainingOptions& defaults,
          Trains trains = Trains::kNewModel);

  /// Adds the options of programs that evaluate: for held-out lines, and --patience.
  void add_held_out();

  /// As Command::run, after loading the checkpoint of --resume and taking the run's options from
  /// it. `trains`: whether the options request training, not only answers of a trained model.
  int run(
      int argc, char** argv, const std::function<void()>& body,
      const std::function<bool()>& trains = [] { return true; });

  /// The start of a checkpoint: the program's name and the run's options.
  nn::Checkpoint settings() const;
  /// The option that names the checkpoint's folder.
  const std::string& save_flag() const { return save_flag_; }

  TrainingOptions options;
  std::optional<nn::Checkpoint> resumed;  // the checkpoint of --resume
  /// The lock of the folder in which a resumed run continues. The folder is locked before the
  /// checkpoint is loaded, so no other run can save a newer checkpoint that this run would replace.
  std::shared_ptr<const FileLock> lock;

 private:
  void add_model_options();
  void add_common_options();
  void prepare(bool trains);
  void resume(bool trains);

  std::string save_flag_;
};

/// Throws if the model of the options cannot be made or loaded, before memory is allocated for it.
/// In addition to its layers, the model has `rows` vectors of --width, and `positions` of them are
/// computed.
/// **Errors**: a resumed checkpoint has fewer numbers than its options require (a small file must
/// not cause a large allocation); a model that does not fit into the memory of this machine, if
/// `is_trained` together with its gradients and moments.
void check_size(const Program& program, index_t rows, index_t positions, bool is_trained = true);

/// The encoder described by the options, pre-norm, with GELU.
models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocabulary_size);

/// The help text of an option that names a tokenizer.
inline constexpr const char* kTokenizerHelp =
    "words, characters, wordpiece, or a file or folder of a tokenizer";

/// A tokenizer that is learned from `texts` if `name` is one of text::tokenizer_kinds, or that is
/// loaded if `name` is a file or folder. A loaded tokenizer must have the special tokens for
/// training. If options.max_size is 0, learned subwords are limited to 8000, because otherwise they
/// would be whole words.
/// **Errors**: as make_tokenizer and load_tokenizer; any other name.
std::unique_ptr<text::Tokenizer> named_tokenizer(const std::string& name,
                                                 std::span<const std::string> texts,
                                                 text::VocabularyOptions options);
/// Whether the tokens of a tokenizer of that name are words or characters, not parts of words.
bool has_whole_units(const std::string& name);

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
  StatusLine bar_{1};
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::examples
