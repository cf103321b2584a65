#include "examples/programs/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <concepts>
#include <cstdio>
#include <deque>
#include <exception>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "examples/flush_output.h"
#include "examples/programs/console.h"
#include "examples/programs/processes.h"
#include "examples/programs/processes_launch.h"
#include "models/pages/page.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/profile.h"

namespace tessera::examples {

namespace {

constexpr const char* kSettingPrefix = "option.";

/// `text` as one number in plain decimal within the range. Versions of CLI11 also take an empty
/// text for 0, a leading 0 for base 8, and clamp numbers that are too large.
template <class T>
T number_in(const std::string& text, Range<T> range, const char* flag) {
  T value{};
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  const bool is_octal = std::integral<T> && text.size() > first + 1 && text[first] == '0';
  if (parse_number(text, value) && !is_octal && value >= range.low && value <= range.high) {
    return value;
  }
  throw CLI::ValidationError(
      flag, str_cat("must be a ", std::integral<T> ? "whole " : "", "number from ", range.low,
                    " to ", range.high, ", got ", printable(text)));
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return text.empty() ? std::string("must not be empty") : std::string();
  };
  return CLI::Validator(check, "");
}

/// The check of options with several possible texts, which the help lists.
CLI::Validator one_of(const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ",") + choice;
  const auto check = [choices, list](const std::string& text) {
    if (std::ranges::find(choices, text) != choices.end()) return std::string();
    return str_cat("must be one of ", list, ", got ", printable(text));
  };
  return CLI::Validator(check, "{" + list + "}");
}

/// The option's value as a text; its default if it is absent.
std::string text_of(const CLI::Option& option) {
  std::string text;
  for (const std::string& result : option.reduced_results())
    text += (text.empty() ? "" : " ") + result;
  if (text.empty()) text = option.get_default_str();
  if (text.empty()) text = option.get_expected_max() == 0 ? "false" : "-";
  return text;
}

/// Reads the option from `text`, as from the command line, and checks it.
void parse_again(CLI::Option* option, const std::string& text, const std::string& file) {
  option->clear();
  option->add_result(text);
  try {
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    fail_file(file, error.what());
  }
}

/// Parses the command line; returns false after it has printed --help.
/// **Errors**: as CLI::App::parse and flush_output.
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

void write_profile(Profile& profile, const std::string& file) {
  profile.write_trace(file);
  std::cerr << profile.table();
}

bool is_standard_input(const std::string& file) {
  return file.empty() || file == "-";
}

}  // namespace

std::string standard_input() {
  std::string bytes;
  std::array<char, 1 << 16> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), stdin)) > 0;) {
    bytes.append(part.data(), n);
  }
  if (std::ferror(stdin) != 0) fail_file(input_name(""), "cannot be read");
  return bytes;
}

struct Command::Entry {
  CLI::Option* option;
  std::function<std::string()> value = {};  // in the format of checkpoints
  bool is_kept = false;
  std::string initial = value ? value() : "";

  std::string name() const { return kSettingPrefix + option->get_name().substr(2); }
};

struct Command::Line {
  CLI::App app;
  std::deque<Entry> entries = {};  // a deque, because addresses must not change

  template <class T>
  Option add(CLI::Option* option, const T& value) {
    const auto text = [&value] {
      nn::Checkpoint one;
      one.set("", value);
      return one.text("");
    };
    return Option(&entries.emplace_back(Entry{option, text}));
  }
};

const Command::Option& Command::Option::required() const {
  entry_->option->required();
  return *this;
}

const Command::Option& Command::Option::kept() const {
  entry_->is_kept = true;
  entry_->option->capture_default_str();  // for values()
  return *this;
}

Command::Command(std::string name, const std::string& description)
    : name_(std::move(name)), line_(new Line{.app = CLI::App(description, name_)}) {
  constexpr index_t kMostThreads = 1024;
  line_->app.get_formatter()->column_width(34);
  line_->app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add("--threads", threads_, "threads per process; its share of the machine if absent",
      {1, kMostThreads});
  add_output("--profile", profile_,
             "output file for the time of each step, .json for ui.perfetto.dev; a table goes to "
             "standard error");
}

Command::~Command() = default;

/// A default out of range means that the option is absent; its help text describes the default.
template <class T>
Command::Option Command::add_number(const char* flag, T& value, const char* what, Range<T> range) {
  const auto set = [&value, flag, range](const CLI::results_t& words) {
    value = number_in(words.back(), range, flag);
    return true;
  };
  CLI::Option* const option =
      line_->app.add_option(flag, set, what, false, [&value] { return str_cat(value); });
  option->type_name(CLI::detail::type_name<T>());
  if (value >= range.low && value <= range.high) option->capture_default_str();
  return line_->add(option, value);
}

Command::Option Command::add(const char* flag, std::string& value, const char* what) {
  CLI::Option* const option = line_->app.add_option(flag, value, what)->check(not_empty());
  if (!value.empty()) option->capture_default_str();
  return line_->add(option, value);
}

Command::Option Command::add(const char* flag, std::string& value, const char* what,
                             const std::vector<std::string>& choices) {
  CLI::Option* const option = line_->app.add_option(flag, value, what)->check(one_of(choices));
  if (!value.empty()) option->capture_default_str();
  return line_->add(option, value);
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
  files_.add(flag, FileUse::kInput, value);
  return add(flag, value, what);
}

Command::Option Command::add_output(const char* flag, std::string& value, const char* what,
                                    FileUse how) {
  files_.add(flag, how, value);
  return add(flag, value, what);
}

void Command::add_argument(const char* name, std::string& value, const char* what) {
  files_.add(name, FileUse::kInput, value);
  line_->app.add_option(name, value, what)->check(not_empty());
}

Command::Option Command::add_arguments(const char* name, std::vector<std::string>& values,
                                       const char* what) {
  files_.add(name, FileUse::kInput,
             [&values] { return NamedFiles::Paths(values.begin(), values.end()); });
  CLI::Option* const option = line_->app.add_option(name, values, what);
  option->multi_option_policy(CLI::MultiOptionPolicy::Throw)->check(not_empty());
  return Option(&line_->entries.emplace_back(Entry{option}));
}

void Command::add_footer(const std::string& text) {
  line_->app.footer(text);
}

std::vector<std::pair<std::string, std::string>> Command::values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const CLI::Option* option : std::as_const(line_->app).get_options()) {
    if (option->get_name() != "--help") values.emplace_back(option->get_name(), text_of(*option));
  }
  return values;
}

bool Command::is_given(const std::string& flag) const {
  const CLI::Option* const option = std::as_const(line_->app).get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

bool Command::is_default(const std::string& flag) const {
  if (!is_given(flag)) return true;
  for (const Entry& entry : line_->entries) {
    if (entry.option->get_name() == flag && entry.value) return entry.value() == entry.initial;
  }
  return false;
}

nn::Checkpoint Command::kept_values() const {
  nn::Checkpoint checkpoint;
  for (const Entry& entry : line_->entries) {
    if (entry.is_kept) checkpoint.set(entry.name(), entry.value());
  }
  return checkpoint;
}

void Command::restore(const nn::Checkpoint& checkpoint) {
  for (const Entry& entry : line_->entries) {
    if (!entry.is_kept) continue;
    const bool is_given = entry.option->count() > 0;
    const std::string word = is_given ? entry.option->results().back() : "";
    const std::string given = entry.value();
    const std::string& kept = checkpoint.text(entry.name());
    parse_again(entry.option, kept, checkpoint.file);
    if (is_given && entry.value() != given) {
      fail_file(checkpoint.file, entry.option->get_name(), " must be ", kept,
                ", as at the start of the run, got ", word);
    }
  }
}

void Command::restore(const char* flag, const std::string& text, const std::string& file) {
  CLI::Option* const option = line_->app.get_option(flag);
  if (option->count() == 0) parse_again(option, text, file);
}

int Command::run(int argc, char** argv, const std::function<void()>& body) {
  return run(
      argc, argv, [] {}, body);
}

int Command::run(int argc, char** argv, const std::function<void()>& prepare,
                 const std::function<void()>& body) {
  prepare_streams();
  std::optional<ProcessesScope> scope;
  int stopped = 0;
  try {
    if (shares_work_) scope.emplace();
    const index_t launched = nn::launched_processes();
    require(shares_work_ || launched == 1, name_.c_str(), "must run in one process, got ", launched,
            "; start it without mpirun");
    if (!parse(line_->app, argc, argv)) return 0;
    current_isa();  // an unknown TESSERA_ISA is an error
    require_one_program(name_, values());
    set_thread_count(threads_ > 0 ? static_cast<int>(threads_) : default_threads());
    std::optional<Profile> profile;
    if (!profile_.empty() && leaves_traces()) profile.emplace();
    prepare();
    files_.check(name_);
    require(profile_.empty() || profile_.ends_with(".json"), "--profile", "must end in .json, got ",
            printable(profile_));
    try {
      body();
    } catch (const StoppedBySignal& by) {
      stopped = 128 + by.signal;
    }
    flush_output();
    if (profile) write_profile(*profile, profile_);
    return stopped;
  } catch (const std::exception&) {
    return report_failure(name_, error_text(advice_));
  }
}

std::string input_name(const std::string& file) {
  return is_standard_input(file) ? "standard input" : file;
}

std::string input_text(const std::string& file) {
  if (is_standard_input(file)) return text::clean_text(standard_input(), input_name(file));
  return text::read_text(file);
}

std::vector<std::string> input_lines(const std::string& file) {
  return text::split_lines(input_text(file));
}

}  // namespace tessera::examples
