// The command line of a training program.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>

#include "examples/training.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

constexpr const char* kPrefix = "option.";
constexpr std::size_t kLongestError = 400;
constexpr index_t kMany = 1'000'000'000;

/// The text on one line, and not too long. Other control characters, with which a name could
/// command the terminal, are spelled out.
std::string one_line(const std::string& text) {
  std::string line;
  for (char c : text) {
    if (c != '\n' && c != '\r') {
      const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      const std::string quoted = is_control ? printable(std::string_view(&c, 1)) : std::string();
      line += is_control ? quoted.substr(1, quoted.size() - 2) : std::string(1, c);
    } else if (!line.empty() && line.back() != ' ') {
      line += line.back() == ':' ? " " : "; ";
    }
  }
  if (line.size() <= kLongestError) return line;
  std::size_t end = kLongestError;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // whole letters
  return line.substr(0, end) + " ...";
}

/// Takes the places of standard streams that are closed, so that no file gets their numbers and
/// with them lines that are not its own. Using them fails.
void occupy_closed_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void flush_output() {
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (!std::cout || !flushed) fail_file("standard output", "not all could be written there");
}

}  // namespace

Program::Program(std::string name, const std::string& description, const TrainingOptions& defaults)
    : app(description, name), options(defaults), name_(std::move(name)) {
  app.get_formatter()->column_width(34);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_common_options();
}

CLI::Validator Program::natural() {
  const auto check = [](const std::string& text) {
    return text.starts_with('-') ? format(text, " is negative") : std::string();
  };
  return CLI::Validator(check, "");
}

void Program::parse_again(CLI::Option* option, const std::string& text, const std::string& file) {
  option->clear();
  option->add_result(text);
  try {
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    fail_file(file, error.what());
  }
}

void Program::add_common_options() {
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
  const std::filesystem::path file = std::filesystem::path(options.resume) / kCheckpointFile;
  resumed = nn::load_checkpoint(file);
  if (resumed->text("program") != name_) {
    fail_file(resumed->file, "a checkpoint of ", printable(resumed->text("program")), ", not of ",
              name_);
  }
  for (const Setting& setting : settings_) {
    const std::string name = setting.option->get_name();
    const std::vector<std::string> given = setting.option->results();
    const bool same = setting.restore(*resumed, kPrefix + name.substr(2));
    if (!same && !given.empty()) {
      fail_file(resumed->file, "it was begun with another ", name, " than ", given.back());
    }
  }
  // Each layer has tensors: what a file claims costs no more memory than its size allows.
  if (options.layers > std::ssize(resumed->tensors)) {
    fail_file(resumed->file, "--layers: ", options.layers, ", but there are only ",
              resumed->tensors.size(), " tensors");
  }
  CLI::Option* const epochs = app.get_option("--epochs");
  if (epochs->count() == 0) parse_again(epochs, resumed->text("epochs"), resumed->file);
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
  occupy_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file over its limit is an error of that file
  std::string error;
  try {
    app.parse(argc, argv);
    if (!options.resume.empty()) resume();
    body();
    flush_output();
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
