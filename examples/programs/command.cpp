#include "examples/programs/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <concepts>
#include <cstdio>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "examples/flush_output.h"
#include "examples/programs/console.h"
#include "examples/programs/interrupts.h"
#include "examples/programs/processes.h"
#include "examples/programs/processes_launch.h"
#include "examples/programs/same_files.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::examples {

namespace {

constexpr const char* kSettingPrefix = "option.";

/// Whether all of `text` is one number in plain decimal that T can hold. Versions of CLI11 also take
/// an empty text for 0, a leading 0 for base 8, and clamp numbers that are too large.
template <class T>
bool read_number(const std::string& text, T& value) {
  if (!parse_number(text, value)) return false;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  return !std::integral<T> || text.size() == first + 1 || text[first] != '0';
}

/// The check of all numbers; the help does not spell out their bounds.
template <class T>
CLI::Validator between(Range<T> range) {
  const auto check = [range](const std::string& text) {
    T value{};
    if (read_number(text, value) && value >= range.low && value <= range.high) return std::string();
    return str_cat("must be a ", std::integral<T> ? "whole " : "", "number from ", range.low,
                   " to ", range.high, ", got ", printable(text));
  };
  return CLI::Validator(check, "");
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return text.empty() ? std::string("must not be empty") : std::string();
  };
  return CLI::Validator(check, "");
}

/// The check of options that are one of several texts, which the help lists.
CLI::Validator one_of(const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ",") + choice;
  const auto check = [choices, list](const std::string& text) {
    if (std::ranges::find(choices, text) != choices.end()) return std::string();
    return str_cat("must be one of ", list, ", got ", printable(text));
  };
  return CLI::Validator(check, "{" + list + "}");
}

/// The option's value as a text, its default if it is absent.
std::string text_of(const CLI::Option& option) {
  std::string text;
  for (const std::string& result : option.reduced_results())
    text += (text.empty() ? "" : " ") + result;
  if (text.empty()) text = option.get_default_str();
  if (text.empty()) text = option.get_expected_max() == 0 ? "false" : "-";
  return text;
}

/// Reads the option from `text`, as if that stood on the command line, and checks it.
void parse_again(CLI::Option* option, const std::string& text, const std::string& file) {
  option->clear();
  option->add_result(text);
  try {
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    fail_file(file, error.what());
  }
}

/// Parses the command line; false if it asked for --help, which is printed. **Errors**: as
/// CLI::App::parse and flush_output.
bool parse(CLI::App& app, int argc, char** argv) {
  try {
    app.get_help_ptr()->description("this help");
    app.parse(argc, argv);
    return true;
  } catch (const CLI::Success& done) {
    app.exit(done);
    flush_output();
    return false;
  }
}

template <class T>
T value_in(const nn::Checkpoint& from, const std::string& name) {
  if constexpr (std::integral<T>) {
    return from.integer<T>(name);
  } else if constexpr (std::floating_point<T>) {
    return from.number(name);
  } else {
    return from.text(name);
  }
}

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

}  // namespace

struct Command::Line {
  struct Entry {
    CLI::Option* option;
    std::function<void(nn::Checkpoint& to, const std::string& name)> store = {};
    std::function<void(const nn::Checkpoint& from, const std::string& name)> load = {};
    bool is_kept = false;

    std::string name() const { return kSettingPrefix + option->get_name().substr(2); }
  };

  CLI::App app;
  std::vector<Entry> entries = {};

  std::size_t add(CLI::Option* option) {
    entries.push_back({option});
    return entries.size() - 1;
  }
};

const Command::Option& Command::Option::required() const {
  line_->entries[number_].option->required();
  return *this;
}

const Command::Option& Command::Option::kept() const {
  line_->entries[number_].is_kept = true;
  line_->entries[number_].option->capture_default_str();
  return *this;
}

Command::Command(std::string name, const std::string& description)
    : name_(std::move(name)), line_(new Line{.app = CLI::App(description, name_)}) {
  constexpr index_t kMostThreads = 1024;
  line_->app.get_formatter()->column_width(34);
  line_->app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add("--threads", threads_, "threads per process; its share of the machine if absent",
      {1, kMostThreads});
}

Command::~Command() = default;

template <class T, class Check>
Command::Option Command::add_checked(const char* flag, T& value, const char* what,
                                     const Check& check, bool shows_default) {
  CLI::Option* const option = line_->app.add_option(flag, value, what)->check(check);
  if (shows_default) option->capture_default_str();
  const std::size_t number = line_->add(option);
  line_->entries[number].store = [&value](nn::Checkpoint& to, const std::string& name) {
    to.set(name, value);
  };
  line_->entries[number].load = [&value](const nn::Checkpoint& from, const std::string& name) {
    value = value_in<T>(from, name);
  };
  return {line_.get(), number};
}

/// A default out of range means an absent option; its help text describes the default.
template <class T>
Command::Option Command::add_number(const char* flag, T& value, const char* what, Range<T> range) {
  const bool is_default = value >= range.low && value <= range.high;
  return add_checked(flag, value, what, between(range), is_default);
}

Command::Option Command::add(const char* flag, std::string& value, const char* what) {
  return add_checked(flag, value, what, not_empty(), false);
}

Command::Option Command::add(const char* flag, std::string& value, const char* what,
                             const std::vector<std::string>& choices) {
  return add_checked(flag, value, what, one_of(choices), !value.empty());
}

Command::Option Command::add(const char* flag, index_t& value, const char* what,
                             Range<index_t> range) {
  return add_number(flag, value, what, range);
}

Command::Option Command::add(const char* flag, double& value, const char* what,
                             Range<double> range) {
  return add_number(flag, value, what, range);
}

Command::Option Command::add(const char* flag, std::uint64_t& value, const char* what) {
  return add_number<std::uint64_t>(flag, value, what,
                                   {0, std::numeric_limits<std::uint64_t>::max()});
}

void Command::add(const char* flag, bool& value, const char* what) {
  line_->app.add_flag(flag, value, what);
}

Command::Option Command::add_input(const char* flag, std::string& value, const char* what) {
  files_.add_input(flag, value);
  return add(flag, value, what);
}

Command::Option Command::add_output(const char* flag, std::string& value, const char* what,
                                    Output how) {
  files_.add_output(flag, value, how);
  return add(flag, value, what);
}

void Command::add_argument(const char* name, std::string& value, const char* what) {
  files_.add_input(name, value);
  line_->app.add_option(name, value, what)->check(not_empty());
}

Command::Option Command::add_arguments(const char* name, std::vector<std::string>& values,
                                       const char* what) {
  files_.add_inputs(name, values);
  return {line_.get(), line_->add(line_->app.add_option(name, values, what)
                                      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
                                      ->check(not_empty()))};
}

void Command::add_footer(const std::string& text) {
  line_->app.footer(text);
}

nn::NamedTexts Command::values() const {
  nn::NamedTexts values;
  for (const CLI::Option* option : std::as_const(line_->app).get_options()) {
    if (option->get_name() != "--help") values.emplace_back(option->get_name(), text_of(*option));
  }
  return values;
}

nn::Checkpoint Command::kept_values() const {
  nn::Checkpoint checkpoint;
  for (const Line::Entry& entry : line_->entries) {
    if (entry.is_kept) entry.store(checkpoint, entry.name());
  }
  return checkpoint;
}

void Command::restore(const nn::Checkpoint& checkpoint) {
  const nn::Checkpoint given = kept_values();
  std::vector<std::string> words;  // as this call spells the options, if it names them
  for (const Line::Entry& entry : line_->entries) {
    words.push_back(entry.option->count() == 0 ? "" : entry.option->results().back());
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Line::Entry& entry = line_->entries[i];
    if (!entry.is_kept) continue;
    const std::string& text = checkpoint.text(entry.name());
    parse_again(entry.option, text, checkpoint.file);
    entry.load(checkpoint, entry.name());  // the parser may round a number twice
    nn::Checkpoint taken;
    entry.store(taken, entry.name());
    if (!words[i].empty() && taken.text(entry.name()) != given.text(entry.name())) {
      fail_file(checkpoint.file, entry.option->get_name(), " must be ", text,
                ", as at the start of the run, got ", words[i]);
    }
  }
}

void Command::restore(const char* flag, const std::string& text, const std::string& file) {
  CLI::Option* const option = line_->app.get_option(flag);
  if (option->count() == 0) parse_again(option, text, file);
}

int Command::run(int argc, char** argv, const std::function<void()>& body) {
  prepare_streams();
  std::optional<ProcessesScope> scope;
  int stopped = 0;
  try {
    scope.emplace();
    if (!parse(line_->app, argc, argv)) return 0;
    current_isa();  // an unknown TESSERA_ISA is an error
    require_one_program(name_, values());
    require(splits_work_ || processes().size() == 1, name_.c_str(), "must run in one process, got ",
            processes().size(), "; start it without mpirun");
    set_thread_count(threads_ > 0 ? static_cast<int>(threads_) : default_threads());
    parsed();
    files_.check(name_);
    try {
      body();
    } catch (const StoppedBySignal& by) {
      stopped = 128 + by.signal;
    }
    flush_output();
    return stopped;
  } catch (const std::exception&) {
    return report_failure(name_, error_text(advice_));
  }
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
