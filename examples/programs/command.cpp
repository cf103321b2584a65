#include "examples/programs/command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <utility>

#include "examples/programs/command_line.h"
#include "examples/programs/option_checks.h"
#include "examples/programs/processes.h"
#include "examples/programs/same_files.h"
#include "models/text/text_file.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

bool is_standard_input(const std::string& file) {
  return file.empty() || file == "-";
}

std::string read_standard_input() {
  std::string bytes;
  std::array<char, 1 << 16> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), stdin)) > 0;) {
    bytes.append(part.data(), n);
  }
  if (std::ferror(stdin) != 0) fail_file(input_name(""), "cannot be read");
  return bytes;
}

/// A default out of range means an absent option; its help text describes the default.
template <class T>
void show_default(CLI::Option* option, T value, Range<T> range) {
  if (value >= range.low && value <= range.high) option->capture_default_str();
}

}  // namespace

struct Command::Line {
  CLI::App app;

  void must_if(Need need, CLI::Option* option) const {
    if (need == Need::kRequired) option->required();
  }
};

Command::Command(std::string name, const std::string& description)
    : name_(std::move(name)), line_(new Line{.app = CLI::App(description, name_)}) {
  line_->app.get_formatter()->column_width(34);
  line_->app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_threads(line_->app, threads_);
}

Command::~Command() = default;

void Command::add(const char* flag, std::string& value, const char* what, Need need) {
  CLI::Option* option = line_->app.add_option(flag, value, what)->check(not_empty());
  line_->must_if(need, option);
}

void Command::add(const char* flag, std::string& value, const char* what,
                  const std::vector<std::string>& choices) {
  CLI::Option* option = line_->app.add_option(flag, value, what)->check(one_of(choices));
  if (!value.empty()) option->capture_default_str();
}

void Command::add(const char* flag, index_t& value, const char* what, Range<index_t> range,
                  Need need) {
  CLI::Option* option = line_->app.add_option(flag, value, what)->check(between(range));
  show_default(option, value, range);
  line_->must_if(need, option);
}

void Command::add(const char* flag, double& value, const char* what, Range<double> range) {
  CLI::Option* option = line_->app.add_option(flag, value, what)->check(between(range));
  show_default(option, value, range);
}

void Command::add(const char* flag, bool& value, const char* what) {
  line_->app.add_flag(flag, value, what);
}

void Command::add_input(const char* flag, std::string& value, const char* what, Need need) {
  add(flag, value, what, need);
  files_.add_input(flag, value);
}

void Command::add_output(const char* flag, std::string& value, const char* what, Need need) {
  add(flag, value, what, need);
  files_.add_output(flag, value);
}

void Command::add_argument(const char* name, std::string& value, const char* what) {
  files_.add_input(name, value);
  line_->app.add_option(name, value, what)->check(not_empty());
}

void Command::add_arguments(const char* name, std::vector<std::string>& values, const char* what,
                            Need need) {
  files_.add_inputs(name, values);
  CLI::Option* option = line_->app.add_option(name, values, what)
                            ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
                            ->check(not_empty());
  line_->must_if(need, option);
}

void Command::add_footer(const std::string& text) {
  line_->app.footer(text);
}

int Command::run(int argc, char** argv, const std::function<void()>& body) {
  return run_command_line(line_->app, argc, argv, name_, "", [&] {
    require(splits_work_ || processes().size() == 1, name_.c_str(), "must run in one process, got ",
            processes().size(), "; start it without mpirun");
    files_.check(name_);
    set_threads(threads_);
    body();
  });
}

std::string input_name(const std::string& file) {
  return is_standard_input(file) ? "standard input" : file;
}

std::string standard_input() {
  return processes().size() == 1 ? read_standard_input() : from_first(read_standard_input);
}

std::string input_text(const std::string& file) {
  if (is_standard_input(file)) return text::clean_text(standard_input(), input_name(file));
  require_same_files(file);
  return text::read_text(file);
}

std::vector<std::string> input_lines(const std::string& file) {
  return text::split_lines(input_text(file));
}

}  // namespace tessera::examples
