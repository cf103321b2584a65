// The common part of programs that train: the options, which a resumed run takes from its
// checkpoint, the run itself, and the output for users. If mpirun starts several processes, they
// train together, and only rank 0 writes.
//
//   TrainingCommand command("train_thing", "Trains a thing.", {.epochs = 10});
//   command.add("--size", size, "size of the thing", {1, 100}, kKept);
//   return command.run(argc, argv, [&] {
//     Model model(...);
//     if (!command.train(model, {.train = {lengths, loss, digest}})) return;  // stopped
//     ...                                                   // the model has the trained weights
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tessera/models/pages/training_page.h>
#include <tessera/models/runs/run.h>
#include <tessera/models/text/tokenizer.h>
#include <tessera/models/token_encoder.h>
#include <tessera/nn/training/checkpoint.h>
#include <tessera/nn/training/optim.h>
#include <tessera/nn/training/trainer.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/io/file.h>
#include <tessera/tensor/random.h>
#include <tessera/tensor/tensor.h>
#include "examples/programs/cli.h"

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
  // For programs that evaluate: a file of held-out lines, or the fraction of the training lines to
  // hold out; and the epochs without a better evaluation after which the run ends.
  std::string held_out = "";
  double held_out_share = 0;
  index_t patience = 0;
  std::uint64_t seed = 0;

  // Options of each call, which a resumed run may change.
  index_t max_steps = 0;             // of this call; 0: no limit
  bool gradient_checkpoint = false;  // compute layers again in the backward pass: same result
  bool overwrite = false;            // replace the saved state of another run
  std::string save = "";
  std::string resume = "";
  std::string log = "";
  std::string report = "";
};

/// The data of a training, and the format of its progress.
struct Training {
  nn::Examples train;
  nn::Examples held_out = {};  // evaluated after each epoch
  nn::Checkpoint notes = {};   // the program's own part of checkpoints
  bool keep_best = true;       // the weights of the best evaluation
  bool has_accuracy = true;    // predictions are correct or wrong; otherwise they are numbers
  nn::BestBy best_by = nn::BestBy::kLoss;
  /// The text of the line at the end of an epoch; if absent, losses and accuracies.
  std::function<std::string(const nn::EpochReport&)> summary = {};
  /// The confusion matrices of the trained model, for --report.
  std::function<std::vector<pages::ConfusionMatrix>()> confusion = {};
};

/// The kind of model that a program trains. A new model has its sizes from options, and --save
/// writes it as a checkpoint. A pretrained model comes from a folder, and --save writes a folder;
/// --checkpoint adds checkpoints.
enum class Trains { kNewModel, kPretrained };

/// The command line of a program that trains. Its kept options belong to a run: checkpoints contain
/// them, and a resumed run takes them from there.
class TrainingCommand final : public Command {
 public:
  TrainingCommand(std::string name, const std::string& description, const TrainingOptions& defaults,
                  Trains trains = Trains::kNewModel);

  /// Adds the options of programs that evaluate: for held-out lines, and --patience.
  void add_held_out();

  /// As Command::run, after loading the checkpoint of --resume and taking the run's options from
  /// it. `trains`: whether the options request training, not only answers of a trained model.
  int run(
      int argc, char** argv, const std::function<void()>& body,
      const std::function<bool()>& trains = [] { return true; });

  /// Throws if the model of the options cannot be made or loaded, before memory is allocated for
  /// it. In addition to its layers, the model has `rows` vectors of --width, and `positions` of
  /// them are computed.
  /// **Errors**: a resumed checkpoint has fewer numbers than its options require (a small file must
  /// not cause a large allocation); a model that does not fit into the memory of this machine, if
  /// `is_trained` together with its gradients and moments.
  void check_size(index_t rows, index_t positions, bool is_trained = true) const;

  /// Trains the model by AdamW, with a learning rate that rises and falls linearly; continues from
  /// the checkpoint of --resume, if there is one. Saves after each epoch and when it stops. At the
  /// end the model has the final weights: the best ones, if they are known. Returns false if
  /// --max-steps stopped it before the end. `groups`, if any, are all variables of `model`.
  /// **Errors**: StoppedBySignal, after saving; as runs::Run.
  template <class Model>
  bool train(Model& model, const Training& training,
             std::vector<nn::ParameterGroup> groups = {}) const {
    if (groups.empty()) {
      nn::set_requires_grad(model);
      groups = nn::split_weight_decay(model);
    }
    check_processes();
    nn::AdamW optimizer(std::move(groups),
                        {.lr = options.learning_rate, .weight_decay = options.weight_decay});
    nn::Trainer trainer(model, optimizer, training.train, trainer_options(training),
                        training.held_out);
    runs::Run run(trainer, run_options(training, nn::parameter_count(model)));
    if (!finish(run, trainer, training)) return false;
    trainer.load_best();
    nn::eval(model);
    if (!options.report.empty() && training.confusion) {
      for (pages::ConfusionMatrix& each : training.confusion()) run.report(std::move(each));
    }
    return true;
  }

  /// Moves the random part of `all` that --held-out-share holds out. **Errors**: none is held out.
  template <class T>
  std::vector<T> hold_out(std::vector<T>& all) const {
    constexpr std::uint64_t kStream = 3;
    Rng rng(options.seed, kStream);
    const Tensor drawn = permutation(std::ssize(all), rng);
    const std::vector<index_t> order = drawn.to_vector<index_t>();
    const auto count =
        static_cast<index_t>(options.held_out_share * static_cast<double>(all.size()));
    require(count > 0, name().c_str(), "--held-out-share must hold out at least 1 of ", all.size(),
            " examples, got ", options.held_out_share);
    std::vector<T> held, rest;
    for (std::size_t i = 0; i < all.size(); ++i) {
      (order[i] < count ? held : rest).push_back(std::move(all[i]));
    }
    all = std::move(rest);
    return held;
  }

  TrainingOptions options;
  std::optional<nn::Checkpoint> resumed;  // the checkpoint of --resume

 private:
  void add_model_options();
  void add_file_options();
  void prepare(bool trains);
  void lock_save();
  void resume();
  nn::Checkpoint notes() const;
  void check_processes() const;
  nn::TrainerOptions trainer_options(const Training& training) const;
  runs::RunOptions run_options(const Training& training, index_t parameters) const;
  bool finish(runs::Run& run, const nn::Trainer& trainer, const Training& training) const;

  std::string save_flag_;                 // the option that names the checkpoint's folder
  std::shared_ptr<const FileLock> lock_;  // of that folder
  bool made_folder_ = false;              // by this run
};

/// The encoder described by the options, pre-norm, with GELU.
models::TokenEncoderOptions token_encoder_options(const TrainingOptions& options,
                                                  index_t vocab_size);

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

/// Losses as text: their mean and the accuracy, or, without `has_accuracy`, the error as a standard
/// deviation.
std::string said(const nn::LossTotals& totals, bool has_accuracy = true);

}  // namespace tessera::examples
