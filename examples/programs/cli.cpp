#include "examples/programs/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <concepts>
#include <cstdio>
#include <exception>
#include <iostream>
#include <limits>
#include <new>
#include <optional>

#include <tessera/models/text/text_file.h>
#include <tessera/tensor/detail/parse_number.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/file.h>
#include <tessera/tensor/kernels/dispatch.h>
#include <tessera/tensor/kernels/parallel.h>
#include <tessera/tensor/profile.h>
#include <tessera/tensor/profile_span.h>
#include <tessera/tensor/storage.h>
#include <tessera/tensor/version.h>
#include "examples/flush_output.h"
#include "examples/named_error.h"
#include "examples/programs/processes.h"

namespace tessera::examples {

namespace {

namespace fs = std::filesystem;

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

/// Whether `file` is, or will be, a file of the model in the folder, if it is one.
bool is_of_model(const fs::path& file, const fs::path& folder) {
  constexpr int kDepth = 2;  // models have their modules in subfolders
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
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
    return text_of(error);
  }
}

/// Throws an error about the first of the words that begins with a hyphen, because the parser would
/// call a misspelled option a file.
void refuse_unknown_options(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return;
    require(!word.starts_with('-') || word == "-", "option", "must be one that --help lists, got ",
            printable(word));
  }
}

}  // namespace

struct Command::Option {
  Need need;
  std::function<std::string()> text;                 // the present value
  std::function<void(const std::string&)> set = {};  // throws CLI::ParseError
  CLI::Option* parsed = nullptr;
  std::string initial = text();

  std::string flag() const { return parsed->get_name(); }
  bool is_given() const { return parsed->count() > 0; }
  bool is_kept() const { return need == kKept || need == kKeptUnlessGiven; }
  /// The name in checkpoints.
  std::string key() const { return (need == kKept ? "option." : "") + flag().substr(2); }
};

Command::Command(std::string name, const std::string& description)
    : name_(std::move(name)), app_(std::make_unique<CLI::App>(description, name_)) {
  constexpr index_t kMostThreads = 1024;
  app_->get_formatter()->column_width(34);
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app_->set_version_flag(
      "--version",
      str_cat(name_, " (Tessera) ", kVersionMajor, '.', kVersionMinor, '.', kVersionPatch),
      "version of Tessera");
  add("--threads", threads_,
      "maximum number of threads per process; processors divided by processes if absent",
      {1, kMostThreads});
  add_output("--profile", profile_,
             "output file for the time of each step, .json for ui.perfetto.dev; a table goes to "
             "standard error");
}

Command::~Command() = default;

/// Adds an option whose value `option.set` reads from a text.
void Command::add_option(const char* flag, const char* what, const std::string& type,
                         bool has_default, Option option) {
  const auto set = [set = option.set](const CLI::results_t& words) {
    set(words.back());
    return true;
  };
  option.parsed = app_->add_option(flag, set, what, false, option.text);
  option.parsed->type_name(type)->required(option.need == kRequired);
  if (has_default) option.parsed->capture_default_str();
  options_.push_back(std::move(option));
}

template <class T>
void Command::add_number(const char* flag, T& value, const char* what, Range<T> range, Need need) {
  const auto text = [&value] {
    if constexpr (std::floating_point<T>) return shortest(value);
    return str_cat(value);
  };
  const auto set = [&value, flag, range](const std::string& word) {
    value = number_in(word, range, flag);
  };
  const bool has_default = value >= range.low && value <= range.high;
  const char* const type = std::floating_point<T>    ? "FLOAT"
                           : std::signed_integral<T> ? "INT"
                                                     : "UINT";
  add_option(flag, what, type, has_default, {need, text, set});
}

void Command::add(const char* flag, std::string& value, const char* what,
                  const std::vector<std::string>& choices, Need need) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ",") + choice;
  const auto set = [&value, flag, choices, list](const std::string& word) {
    if (word.empty()) throw CLI::ValidationError(flag, "must not be empty");
    if (!choices.empty() && std::ranges::find(choices, word) == choices.end()) {
      throw CLI::ValidationError(flag, str_cat("must be one of ", list, ", got ", printable(word)));
    }
    value = word;
  };
  const std::string type = choices.empty() ? "TEXT" : "TEXT:{" + list + "}";
  add_option(flag, what, type, !value.empty(), {need, [&value] { return value; }, set});
}

void Command::add(const char* flag, index_t& value, const char* what, Range<index_t> range,
                  Need need) {
  add_number(flag, value, what, range, need);
}

void Command::add(const char* flag, double& value, const char* what, Range<double> range,
                  Need need) {
  add_number(flag, value, what, range, need);
}

void Command::add(const char* flag, std::uint64_t& value, const char* what, Need need) {
  add_number(flag, value, what, {0, std::numeric_limits<std::uint64_t>::max()}, need);
}

void Command::add(const char* flag, bool& value, const char* what) {
  Option option = {kOptional, [&value] { return std::string(value ? "true" : "false"); }};
  option.parsed = app_->add_flag(flag, value, what);
  options_.push_back(std::move(option));
}

void Command::add_input(const char* flag, std::string& value, const char* what, Need need) {
  add_output(flag, value, what, need, FileUse::kInput);
}

void Command::add_output(const char* flag, std::string& value, const char* what, Need need,
                         FileUse use) {
  add_files(flag, use, [&value] { return Paths{value}; });
  add(flag, value, what, need);
}

void Command::add_arguments(const char* name, std::vector<std::string>& values, const char* what,
                            Need need) {
  add_files(name, FileUse::kInput, [&values] { return Paths(values.begin(), values.end()); });
  const auto check = [](const std::string& word) {
    return std::string(word.empty() ? "must not be empty" : "");
  };
  CLI::Option* const parsed = app_->add_option(name, values, what);
  parsed->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  parsed->check(check)->required(need == kRequired);
}

void Command::add_footer(const std::string& text) {
  app_->footer(text);
}

std::vector<std::pair<std::string, std::string>> Command::values(bool are_default) const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Option& option : options_) {
    const std::string text = option.text();
    if ((text == option.initial) != are_default) continue;
    values.emplace_back(option.flag(), text.empty() ? "-" : text);
  }
  return values;
}

nn::Checkpoint Command::kept_values() const {
  nn::Checkpoint checkpoint;
  for (const Option& option : options_) {
    if (option.is_kept()) checkpoint.set(option.key(), option.text());
  }
  return checkpoint;
}

void Command::restore(const nn::Checkpoint& checkpoint) {
  const nn::Checkpoint known = kept_values();
  for (const auto& [key, value] : checkpoint.values) {
    if (!key.starts_with("option.") || known.has(key)) continue;
    fail_file(checkpoint.file, "options must be those of ", name_, ", got ", printable(key), " = ",
              printable(value), "; continue with the version of the program that saved it, or ",
              "start a new run");
  }
  for (const Option& option : options_) {
    if (!option.is_kept() || (option.need == kKeptUnlessGiven && option.is_given())) continue;
    const std::string given = option.text();
    const std::string& kept = checkpoint.text(option.key());
    try {
      option.set(kept);
    } catch (const CLI::ParseError& error) {
      fail_file(checkpoint.file, error.what());
    }
    if (option.is_given() && option.text() != given) {
      fail_file(checkpoint.file, option.flag(), " must be ", kept,
                ", as at the start of the run, got ", given);
    }
  }
}

/// Refuses the output `file` if it is an input or another output, or cannot be written.
void Command::check_output(const File& file, const fs::path& path) const {
  const auto refuse = [&](const std::string& rule, const std::string& by) {
    fail(name_.c_str(), file.flag, " must not be ", rule, ", got ", path.string(), " (", by, ')');
  };
  if (is_open_as("/dev/stdin", path)) refuse("an input", "standard input");
  if (is_open_as("/dev/stdout", path)) refuse("another output", "standard output");
  // A file that grows may share the stream; one that is replaced would replace /dev/stderr.
  if (file.use == FileUse::kReplaced && is_open_as("/dev/stderr", path)) {
    refuse("another output", "standard error");
  }
  std::error_code error;
  const bool is_device = fs::is_other(path, error);  // such as /dev/null: may be shared
  for (const File& other : files_) {
    if (is_device) break;
    for (const fs::path& taken : other.paths()) {
      if (&other == &file || taken.empty()) continue;
      const std::string by = other.flag + ' ' + taken.string();
      if (other.use == FileUse::kFolder && is_in_folder(path, taken)) {
        refuse("inside another output", by);
      }
      if (file.use == FileUse::kCheckpoint) continue;  // may be resumed and saved in one place
      const std::string kind = other.use == FileUse::kInput        ? "an input"
                               : other.use == FileUse::kCheckpoint ? "the checkpoint"
                                                                   : "another output";
      if (is_same_file(path, taken)) refuse(kind, by);
      if (other.use == FileUse::kInput && is_of_model(path, taken)) {
        refuse("a file of an input", by);
      }
    }
  }
  if (file.use == FileUse::kReplaced) check_writable(path);
}

/// Checks all outputs before the work begins, in the process that writes them.
void Command::check_files() const {
  if (!leaves_traces()) return;
  const ProfileScope scope("check files");
  for (const File& file : files_) {
    for (const fs::path& path : file.paths()) {
      if (path.empty() || file.use == FileUse::kFolder) continue;
      if (file.use != FileUse::kInput) {
        check_output(file, path);
      } else if (is_open_as("/dev/stdout", path)) {
        fail(name_.c_str(), "standard output must not be an input, got ", path.string(), " (",
             file.flag, ')');
      }
    }
  }
}

/// Parses the command line; returns false after it has printed --help or --version.
bool Command::parse(int argc, char** argv) {
  try {
    app_->get_help_ptr()->description("this help");
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::Success& done) {
    app_->exit(done);
    flush_output();
    return false;
  } catch (const CLI::ParseError&) {
    refuse_unknown_options(app_->remaining());
    throw;
  }
}

/// As run(), after parsing. **Errors**: those of the body.
int Command::run_checked(const std::function<void()>& body) {
  current_isa();  // an unknown TESSERA_ISA is an error
  set_thread_limit(threads_ > 0 ? static_cast<int>(threads_) : default_threads());
  std::optional<Profile> profile;
  if (!profile_.empty() && leaves_traces()) profile.emplace();
  if (prepare_) prepare_();
  check_files();
  require(profile_.empty() || profile_.ends_with(".json"), "--profile", "must end in .json, got ",
          printable(profile_));
  int status = 0;
  try {
    body();
  } catch (const StoppedBySignal& by) {
    status = 128 + by.signal;
  }
  flush_output();
  if (profile) {
    profile->write_trace(profile_);
    std::cerr << profile->table();
  }
  for (const auto& each : at_end_) each();
  return status;
}

void Command::warn(const std::string& warning) const {
  if (leaves_traces()) report_error(name_, "warning: " + warning);
}

int Command::run(int argc, char** argv, const std::function<void()>& body) {
  prepare_streams();
  std::optional<ProcessesScope> scope;
  try {
    if (shares_work_) scope.emplace();
    const index_t launched = nn::launched_processes();
    require(shares_work_ || launched == 1, name_.c_str(), "must run in one process, got ", launched,
            "; start it without mpirun");
    return parse(argc, argv) ? run_checked(body) : 0;
  } catch (const std::exception&) {
    return report_failure(name_, error_text(advice_));
  }
}

void CutTexts::report_by(Command& command) {
  command.at_end([this, &command] {
    if (texts == 0) return;
    command.warn(str_cat(texts, texts == 1 ? " text was" : " texts were", " truncated to ", tokens,
                         " tokens; the rest was not read"));
  });
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

std::string line_name(const std::string& file, index_t line) {
  return str_cat(input_name(file), ": line ", line + 1);
}

std::vector<text::TextPair> text_pairs(const std::vector<std::string>& lines,
                                       const std::string& file) {
  std::vector<text::TextPair> pairs;
  for (const std::string& line : lines) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos) {
      fail_file(line_name(file, std::ssize(pairs)),
                "must be two texts with one tab between them, got ", std::ranges::count(line, '\t'),
                " tabs");
    }
    pairs.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return pairs;
}

}  // namespace tessera::examples
