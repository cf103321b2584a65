#include "examples/programs/program.h"

#include <system_error>
#include <utility>

#include "examples/programs/processes.h"
#include "nn/training/shards.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

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
  const auto checkpoint = [](const std::string& folder) {
    return [&folder] {
      return NamedFiles::Paths{folder.empty() ? std::filesystem::path() : checkpoint_in(folder)};
    };
  };
  files_.add(save_flag_, FileUse::kCheckpoint, checkpoint(options.save));
  files_.add("--resume", FileUse::kCheckpoint, checkpoint(options.resume));
}

/// Locks the folder that this call saves to, if its checkpoint will be loaded.
void Program::lock_folder(const std::filesystem::path& checkpoint) {
  const std::string& folder = options.save.empty() ? options.resume : options.save;
  std::error_code error;
  if (!std::filesystem::equivalent(checkpoint_in(folder), checkpoint, error)) return;
  lock = tessera::lock_folder(folder, runs::kCheckpointFile);
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
  if (trains && leaves_traces()) lock_folder(file);
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
  return Command::run(
      argc, argv, [&] { prepare(trains()); }, body);
}

nn::Checkpoint Program::settings() const {
  nn::Checkpoint checkpoint = kept_values();
  checkpoint.set("program", name());
  checkpoint.set("epochs", options.epochs);
  return checkpoint;
}

}  // namespace tessera::examples
