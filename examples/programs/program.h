// The command line of a training program: the common options, and those of a resumed run.
//
//   Program program("train_thing", "Trains a thing.", {.epochs = 10});
//   program.add("--size", size, "size of the thing", {1, 100}).kept();
//   return program.run(argc, argv, [&] { ... });
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "examples/programs/command.h"
#include "models/runs/run.h"
#include "nn/training/checkpoint.h"
#include "tensor/io/file.h"

namespace tessera::examples {

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
  double warmup = 0.1;  // the fraction of steps in which the learning rate rises
  double clip = 1;      // the largest norm of the gradient
  index_t shards = 1;   // parts in which the examples of a step are computed
  // For programs that evaluate: a file of held-out lines or a share of the training lines, and
  // epochs without a better evaluation.
  std::string held_out = "";
  double held_out_share = 0;
  index_t patience = 0;
  std::uint64_t seed = 0;

  // For each call: location and duration, which a resumed run may change.
  index_t max_steps = 0;             // of this call; 0: no limit
  bool gradient_checkpoint = false;  // compute layers again in the backward: the same bits
  bool overwrite = false;            // replace the saved state of another run
  std::string save = "";
  std::string resume = "";
  std::string log = "";
  std::string report = "";
};

/// The checkpoint file in the folders of --save and --resume.
inline std::filesystem::path checkpoint_in(const std::string& folder) {
  return std::filesystem::path(folder) / runs::kCheckpointFile;
}

/// The kind of model that a program trains: one whose sizes are options, contained in the
/// checkpoint (--save), or one from a folder, saved as a folder, with optional checkpoints
/// (--checkpoint).
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
  /// The lock of the folder of a run that continues there. The folder was locked before the
  /// checkpoint was loaded, so no other run can save a newer one, which this run would replace.
  std::shared_ptr<const FileLock> lock;

 private:
  void add_model_options();
  void add_common_options();
  void lock_folder(const std::filesystem::path& checkpoint);
  void prepare(bool trains);
  void resume(bool trains);

  std::string save_flag_;
};

}  // namespace tessera::examples
