// The command line of a training program.
#include <exception>
#include <filesystem>
#include <iostream>

#include "examples/training.h"

namespace tessera::examples {

namespace {

constexpr const char* kPrefix = "option.";
constexpr std::size_t kLongestError = 400;

/// The text on one line, and not too long.
std::string one_line(const std::string& text) {
  std::string line;
  for (char c : text) {
    if (c != '\n' && c != '\r') {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += line.back() == ':' ? " " : "; ";
    }
  }
  if (line.size() <= kLongestError) return line;
  std::size_t end = kLongestError;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // whole letters
  return line.substr(0, end) + " ...";
}

}  // namespace

Program::Program(std::string name, const std::string& description, const TrainingOptions& defaults)
    : app(description, name), options(defaults), name_(std::move(name)) {
  app.get_formatter()->column_width(34);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_common_options();
}

void Program::add_common_options() {
  constexpr index_t kMany = 1'000'000'000;
  const auto whole = [&](const char* flag, index_t& value, index_t least, const char* what) {
    add(flag, value, what)->check(between(least, kMany));
  };
  whole("--layers", options.layers, 0, "layers of the encoder");
  whole("--width", options.width, 1, "width of the model");
  whole("--heads", options.heads, 1, "heads of attention, which divide the width");
  whole("--feed-forward", options.feed_forward, 1, "width inside the feed-forward networks");
  add("--dropout", options.dropout, "chance of each element to be dropped in training")
      ->check(between(0.0, 1.0));
  whole("--batch", options.batch_size, 1, "examples a step");
  add("--lr", options.learning_rate, "highest learning rate")->check(between(0.0, 1e9));
  add("--weight-decay", options.weight_decay, "of AdamW, on matrices alone")
      ->check(between(0.0, 1e9));
  add("--warmup", options.warmup, "share of the steps in which the learning rate rises")
      ->check(between(0.0, 1.0));
  add("--clip", options.clip, "largest norm of the gradient")->check(between(1e-9, 1e9));
  add("--seed", options.seed, "of all random numbers");

  app.add_option("--epochs", options.epochs, "passes over the examples")
      ->check(between(index_t{1}, kMany))
      ->capture_default_str();
  app.add_option("--max-steps", options.max_steps, "stop after so many steps of this call")
      ->check(between(index_t{1}, kMany));
  app.add_flag("--checkpoint-layers", options.checkpoint_layers,
               "less memory for a third more time; the same result");
  app.add_option("--save", options.save, "folder for the checkpoint; --resume's if absent");
  app.add_option("--resume", options.resume, "folder of a checkpoint to go on from");
  app.add_option("--log", options.log, "file for a line of numbers a step, as CSV");
}

void Program::resume() {
  const std::filesystem::path file =
      std::filesystem::path(options.resume) / "checkpoint.safetensors";
  resumed = nn::load_checkpoint(file);
  if (resumed->text("program") != name_) {
    fail_file(resumed->file, "a checkpoint of ", resumed->text("program"), ", not of ", name_);
  }
  for (const Setting& setting : settings_) {
    const std::string name = setting.option->get_name();
    const bool same = setting.restore(*resumed, kPrefix + name.substr(2));
    if (!same && setting.option->count() > 0) {
      fail_file(resumed->file, "it was begun with another ", name, " than ",
                setting.option->results().back());
    }
  }
  if (app.get_option("--epochs")->count() == 0) options.epochs = resumed->integer("epochs");
  if (options.save.empty()) options.save = options.resume;
}

nn::Checkpoint Program::settings() const {
  nn::Checkpoint checkpoint;
  checkpoint.set("program", name_);
  checkpoint.set("epochs", options.epochs);
  for (const Setting& setting : settings_) {
    setting.store(checkpoint, kPrefix + setting.option->get_name().substr(2));
  }
  return checkpoint;
}

int Program::run(int argc, char** argv, const std::function<void()>& body) {
  std::string error;
  try {
    app.parse(argc, argv);
    if (!options.resume.empty()) resume();
    body();
    return 0;
  } catch (const CLI::Success& done) {
    return app.exit(done);  // --help
  } catch (const std::exception& e) {
    error = e.what();
  }
  std::cout.flush();
  std::cerr << name_ << ": " << one_line(error) << std::endl;
  return 2;
}

}  // namespace tessera::examples
