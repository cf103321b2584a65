// The command line of a training program: its options, those that a checkpoint keeps, and errors.
//
//   Program program("train_thing", "Trains a thing.", {.epochs = 10});
//   program.add("--size", size, "size of the thing", {1, 100});
//   return program.run(argc, argv, [&] { ... });
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/named_files.h"
#include "examples/programs/range.h"
#include "examples/programs/run_lock.h"
#include "nn/training/checkpoint.h"

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
  double warmup = 0.1;   // the share of the steps in which the learning rate rises
  double clip = 1;       // the largest norm of the gradient
  index_t shards = 1;    // parts in which a step's examples are computed
  index_t patience = 0;  // epochs without a better evaluation; of programs that evaluate
  std::uint64_t seed = 0;

  // Where and how long, which a resumed run may choose anew.
  index_t max_steps = 0;           // of this call; 0: no limit
  bool checkpoint_layers = false;  // compute layers again in the backward: the same bits
  bool overwrite = false;          // replace what another run has saved
  std::string save = "";
  std::string resume = "";
  std::string log = "";
  std::string report = "";
};

/// The file in the folders that --save and --resume name.
inline constexpr const char* kCheckpointFile = "checkpoint.safetensors";

/// What a program trains: a model whose sizes are options, and which its checkpoint holds (--save),
/// or one from a folder, saved as a folder, with checkpoints on request (--checkpoint).
enum class Trains { kNewModel, kPretrained };

/// A command line; an error is one line on standard error and exit code 2.
class Program {
 public:
  Program(std::string name, const std::string& description, const TrainingOptions& defaults,
          Trains trains = Trains::kNewModel);
  ~Program();

  /// Adds an option that belongs to the run: checkpoints hold it, and a resumed run takes it from
  /// there, with the same checks. Giving it another value then is an error.
  void add(const char* flag, index_t& value, const char* what, Range<index_t> range);
  void add(const char* flag, double& value, const char* what, Range<double> range);
  void add(const char* flag, std::uint64_t& value, const char* what);
  void add(const char* flag, std::string& value, const char* what,
           const std::vector<std::string>& choices);
  /// Adds one that is a name, or a file that is read.
  void add(const char* flag, std::string& value, const char* what);

  /// Adds an option of this call only. An empty text is refused: a script's unset variable gives
  /// one.
  void add_for_call(const char* flag, std::string& value, const char* what);
  void add_for_call(const char* flag, bool& value, const char* what);
  /// Adds one that names a file or folder that is read.
  void add_input(const char* flag, std::string& value, const char* what);
  /// Adds one that names what is written. An output that is an input or another output, or cannot be
  /// written, is refused before the work begins.
  void add_output(const char* flag, std::string& value, const char* what,
                  Output how = Output::kReplaced);
  /// Adds the options of programs that evaluate: which lines are held out, and --patience.
  void add_held_out(std::string& file, double& share);

  /// Parses the command line, loads the checkpoint that --resume names, takes the run's options
  /// from it, and calls `body`. Returns 128 + signal if the run was stopped by StoppedBySignal.
  /// `trains`: whether these options ask for training, and not only for the answers of a trained model.
  int run(
      int argc, char** argv, const std::function<void()>& body,
      const std::function<bool()>& trains = [] { return true; });

  /// The start of a checkpoint: whose it is, and the run's options.
  nn::Checkpoint settings() const;

  /// All options of this call by their flags, defaults too.
  std::vector<std::pair<std::string, std::string>> values() const;

  /// The file that this call names by `flag`; empty if it names none.
  std::string file(const std::string& flag) const { return files_.named(flag); }

  const std::string& name() const { return name_; }
  /// The option that names the checkpoint's folder.
  const std::string& save_flag() const { return save_flag_; }

  TrainingOptions options;
  std::optional<nn::Checkpoint> resumed;
  /// Of the folder of a run that goes on there. It was locked before the checkpoint was loaded, so no
  /// other run saves a newer one, which this run would replace.
  std::shared_ptr<const RunLock> lock;

 private:
  struct CommandLine;  // of the library that parses it, which takes long to compile

  void add_model_options();
  void add_common_options();
  void lock_folder(const std::filesystem::path& checkpoint);
  void resume(bool trains);

  std::string name_;
  std::string save_flag_;
  index_t threads_ = 0;
  NamedFiles files_;
  std::unique_ptr<CommandLine> line_;
};

}  // namespace tessera::examples
