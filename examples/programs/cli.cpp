#include "examples/programs/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <concepts>
#include <cstdio>
#include <deque>
#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <optional>

#include "examples/flush_output.h"
#include "examples/programs/processes.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/profile.h"
#include "tensor/profile_span.h"
#include "tensor/storage.h"

namespace tessera::examples {

namespace {

namespace fs = std::filesystem;

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

const CLI::Validator kNotEmpty(
    [](const std::string& text) { return text.empty() ? "must not be empty" : std::string(); }, "");

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

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Whether a standard stream of this process was redirected to the file.
bool is_open_as(const char* stream, const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::equivalent(file, stream, error);
}

/// Whether files with this name belong to models.
bool is_model_file(const fs::path& name) {
  const fs::path kind = name.extension();
  return kind == ".json" || kind == ".model" || kind == ".safetensors" || name == "vocab.txt" ||
         name == "merges.txt";
}

/// Whether `file` is, or will be, a file of the model in the folder.
bool is_of_model(const fs::path& file, const fs::path& folder) {
  constexpr int kDepth = 2;  // models have their modules in subfolders
  std::error_code error;
  if (is_in_folder(file, folder)) {
    const fs::path target = fs::is_symlink(file, error) ? fs::read_symlink(file, error) : file;
    if (is_model_file(file.filename()) || is_model_file(target.filename())) return true;
  }
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry.depth() >= kDepth) entry.disable_recursion_pending();
    if (is_model_file(entry->path().filename()) && is_same_file(entry->path(), file)) return true;
  }
  return false;
}

/// The text of the exception that is being handled; `advice` is appended to errors about memory.
std::string error_text(const std::string& advice) {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    return str_cat(error.what(), " more", advice);
  } catch (const std::bad_alloc&) {
    return "out of memory" + advice;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

struct Command::Entry {
  CLI::Option* option;
  std::function<std::string()> value = [] { return std::string(); };  // as in checkpoints
  std::string initial = value();                                      // without a command line
  bool is_kept = false;

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
  CLI::Option* const option = line_->app.add_option(flag, value, what)->check(kNotEmpty);
  if (!value.empty()) option->capture_default_str();
  return line_->add(option, value);
}

Command::Option Command::add(const char* flag, std::string& value, const char* what,
                             const std::vector<std::string>& choices) {
  CLI::Option* const option = line_->app.add_option(flag, value, what)->check(one_of(choices));
  return line_->add(option->capture_default_str(), value);
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
  return add_number(flag, value, what,
                    Range<std::uint64_t>{0, std::numeric_limits<std::uint64_t>::max()});
}

void Command::add(const char* flag, bool& value, const char* what) {
  line_->app.add_flag(flag, value, what);
}

Command::Option Command::add_input(const char* flag, std::string& value, const char* what) {
  return add_output(flag, value, what, FileUse::kInput);
}

Command::Option Command::add_output(const char* flag, std::string& value, const char* what,
                                    FileUse use) {
  add_files(flag, use, [&value] { return Paths{value}; });
  return add(flag, value, what);
}

void Command::add_argument(const char* name, std::string& value, const char* what) {
  add_input(name, value, what);
}

Command::Option Command::add_arguments(const char* name, std::vector<std::string>& values,
                                       const char* what) {
  add_files(name, FileUse::kInput, [&values] { return Paths(values.begin(), values.end()); });
  CLI::Option* const option = line_->app.add_option(name, values, what);
  option->multi_option_policy(CLI::MultiOptionPolicy::Throw)->check(kNotEmpty);
  return Option(&line_->entries.emplace_back(Entry{option}));
}

void Command::add_footer(const std::string& text) {
  line_->app.footer(text);
}

std::vector<std::pair<std::string, std::string>> Command::values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const CLI::Option* option : std::as_const(line_->app).get_options()) {
    if (option->get_name() == "--help") continue;
    std::string text;
    for (const std::string& word : option->reduced_results())
      text += (text.empty() ? "" : " ") + word;
    if (text.empty()) text = option->get_default_str();
    if (text.empty()) text = option->get_expected_max() == 0 ? "false" : "-";
    values.emplace_back(option->get_name(), text);
  }
  return values;
}

bool Command::is_given(const std::string& flag) const {
  const CLI::Option* const option = std::as_const(line_->app).get_option_no_throw(flag);
  return option != nullptr && option->count() > 0;
}

bool Command::is_default(const std::string& flag) const {
  if (!is_given(flag)) return true;
  return std::ranges::any_of(line_->entries, [&](const Entry& entry) {
    return entry.option->get_name() == flag && entry.value() == entry.initial;
  });
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
  if (!is_given(flag)) parse_again(line_->app.get_option(flag), text, file);
}

/// Refuses the output `file` if it is an input or another output.
void Command::check_file(const File& file, const fs::path& path) const {
  const auto refuse = [&](const std::string& rule, const std::string& by) {
    fail(name_.c_str(), file.flag, " must not be ", rule, ", got ", path.string(), " (", by, ')');
  };
  if (is_open_as("/dev/stdin", path)) refuse("an input", "standard input");
  if (is_open_as("/dev/stdout", path)) refuse("another output", "standard output");
  // A file that grows may share the stream; one that is replaced would replace /dev/stderr.
  if (file.use == FileUse::kReplaced && is_open_as("/dev/stderr", path)) {
    refuse("another output", "standard error");
  }
  for (const File& other : files_) {
    // A checkpoint may be resumed and saved at the same location.
    const bool matters = file.use != FileUse::kCheckpoint || other.use == FileUse::kFolder;
    if (&other == &file || !matters) continue;
    const std::string kind = other.use == FileUse::kInput        ? "an input"
                             : other.use == FileUse::kCheckpoint ? "the checkpoint"
                                                                 : "another output";
    for (const fs::path& taken : other.paths()) {
      if (taken.empty()) continue;
      const std::string by = other.flag + ' ' + taken.string();
      if (is_same_file(path, taken)) refuse(kind, by);
      if (other.use == FileUse::kInput && is_folder(taken) && is_of_model(path, taken)) {
        refuse("a file of " + kind, by);
      }
      if (other.use == FileUse::kFolder && is_in_folder(path, taken)) refuse("inside " + kind, by);
    }
  }
}

/// Checks all outputs before the work begins, in the process that writes them.
void Command::check_files() const {
  if (!leaves_traces()) return;
  const ProfileScope scope("check files");
  for (const File& file : files_) {
    for (const fs::path& path : file.paths()) {
      std::error_code error;
      const bool is_device = fs::exists(path, error) && fs::is_other(path, error);
      if (file.use == FileUse::kInput && is_open_as("/dev/stdout", path)) {
        fail(name_.c_str(), "standard output must not be an input, got ", path.string(), " (",
             file.flag, ')');
      }
      const bool is_output = file.use != FileUse::kInput && file.use != FileUse::kFolder;
      if (is_output && !path.empty() && !is_device) check_file(file, path);
    }
  }
  for (const File& file : files_) {
    if (file.use != FileUse::kReplaced) continue;
    const fs::path path = file.paths().front();
    if (path.empty()) continue;
    // The folder of a checkpoint is made later.
    const bool is_in_new_folder = std::ranges::any_of(files_, [&](const File& other) {
      if (other.use != FileUse::kCheckpoint) return false;
      const fs::path folder = other.paths().front().parent_path();
      return !folder.empty() && is_same_file(folder, fs::absolute(path).parent_path());
    });
    if (!is_in_new_folder) check_writable(path);
  }
}

int Command::run(int argc, char** argv, const std::function<void()>& body) {
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
    if (prepare_) prepare_();
    check_files();
    require(profile_.empty() || profile_.ends_with(".json"), "--profile", "must end in .json, got ",
            printable(profile_));
    try {
      body();
    } catch (const StoppedBySignal& by) {
      stopped = 128 + by.signal;
    }
    flush_output();
    if (!profile) return stopped;
    profile->write_trace(profile_);
    std::cerr << profile->table();
    return stopped;
  } catch (const std::exception&) {
    return report_failure(name_, error_text(advice_));
  }
}

std::string input_name(const std::string& file) {
  return file.empty() || file == "-" ? "standard input" : file;
}

std::string input_text(const std::string& file) {
  if (!file.empty() && file != "-") return text::read_text(file);
  std::string bytes;
  std::array<char, 1 << 16> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), stdin)) > 0;) {
    bytes.append(part.data(), n);
  }
  if (std::ferror(stdin) != 0) fail_file(input_name(""), "cannot be read");
  return text::clean_text(std::move(bytes), input_name(""));
}

std::vector<std::string> input_lines(const std::string& file) {
  return text::split_lines(input_text(file));
}

std::vector<text::TextPair> text_pairs(const std::vector<std::string>& lines,
                                       const std::string& input) {
  std::vector<text::TextPair> pairs;
  for (const std::string& line : lines) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos) {
      fail_file(input, "line ", pairs.size() + 1,
                ": must be two texts with one tab between them, got ",
                std::ranges::count(line, '\t'), " tabs");
    }
    pairs.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return pairs;
}

}  // namespace tessera::examples
