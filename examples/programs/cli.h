// The command line of a program: its options, files, errors and progress.
//
//   int main(int argc, char** argv) {
//     examples::Command command("count_words", "Counts the words of each line.");
//     std::string file;
//     command.add_input("FILE", file, "lines of text; standard input if absent");
//     return command.run(argc, argv, [&] {
//       for (const std::string& line : examples::input_lines(file)) ...
//     });
//   }
//
// Results go to standard output, progress and errors to standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/models/text/tokenizer.h>
#include <tessera/nn/training/checkpoint.h>
#include <tessera/tensor/kernels/types.h>

namespace CLI {
class App;
}

namespace tessera::examples {

/// The permitted numbers of an option, written in plain decimal. NaN is in no range.
template <class T>
struct Range {
  T low, high;
};

/// The largest count of an option.
inline constexpr index_t kMany = 1'000'000'000;

/// The need for an option. Kept options belong to a run: checkpoints hold their values. A resumed
/// run takes kept options from its checkpoint, and rejects a different value on the command line.
enum Need { kOptional, kRequired, kKept, kKeptUnlessGiven };

/// The use of a file by a program.
enum class FileUse {
  kInput,       // a file, or a folder with model files
  kReplaced,    // written as by write_file
  kInPlace,     // written: a file that grows, or a device
  kFolder,      // written: a folder, in which no other output may be
  kCheckpoint,  // read and written; no output may be this file
};

/// Thrown after a signal has stopped a run and the run has been saved. Command::run then returns
/// 128 + signal, as a shell does for a process that a signal has ended.
struct StoppedBySignal {
  int signal;
};

/// Options, including --help, --version, --threads and --profile, and the call of the body.
class Command {
  struct Option;

 public:
  Command(std::string name, const std::string& description);
  ~Command();

  /// Options whose default is the value of the variable. An empty text on the command line is an
  /// error, because it usually comes from an unset variable of a script. A default outside the
  /// range means that the option is absent; the help text describes that case.
  void add(const char* flag, std::string& value, const char* what, Need need = kOptional) {
    add(flag, value, what, {}, need);
  }
  void add(const char* flag, std::string& value, const char* what,
           const std::vector<std::string>& choices, Need need = kOptional);
  void add(const char* flag, index_t& value, const char* what, Range<index_t> range,
           Need need = kOptional);
  void add(const char* flag, double& value, const char* what, Range<double> range,
           Need need = kOptional);
  void add(const char* flag, std::uint64_t& value, const char* what, Need need = kOptional);
  void add(const char* flag, bool& value, const char* what);

  /// Options, or arguments without a flag, that name a file or folder that is read or written. An
  /// output that is an input or another output, or cannot be written, is an error before the work
  /// begins.
  void add_input(const char* flag, std::string& value, const char* what, Need need = kOptional);
  void add_output(const char* flag, std::string& value, const char* what, Need need = kOptional,
                  FileUse use = FileUse::kReplaced);
  void add_arguments(const char* name, std::vector<std::string>& values, const char* what,
                     Need need = kOptional);

  /// Text below the options that --help prints.
  void add_footer(const std::string& text);

  /// Calls `body` at the end of a run that has had no error, after its output.
  void at_end(std::function<void()> body) { at_end_.push_back(std::move(body)); }
  /// Writes a warning as one line on standard error.
  void warn(const std::string& warning) const;

  /// Parses the command line, sets the threads, calls `body` and flushes its output. Returns the
  /// exit code for main(): 0; 2 after one line on standard error; 128 + the signal after
  /// StoppedBySignal.
  int run(int argc, char** argv, const std::function<void()>& body);

  const std::string& name() const { return name_; }
  /// The value of --threads; 0 if the option is absent.
  index_t threads() const { return threads_; }

 protected:
  using Paths = std::vector<std::filesystem::path>;

  /// The options whose values differ from their defaults, or those with default values, by flag.
  std::vector<std::pair<std::string, std::string>> values(bool are_default) const;
  /// The kept options in the format of a checkpoint.
  nn::Checkpoint kept_values() const;
  /// Sets the kept options to the values in a checkpoint, with the checks of a command line.
  /// **Errors**: std::runtime_error with the file's name: an `option.` that the command
  /// does not have; a value that the option rejects, or one different from the command line's.
  void restore(const nn::Checkpoint& checkpoint);

  /// Adds files whose paths `paths` computes after parsing; the path of an absent option is empty.
  void add_files(std::string flag, FileUse use, std::function<Paths()> paths) {
    files_.push_back({std::move(flag), use, std::move(paths)});
  }

  bool shares_work_ = false;       // among processes(); if false, several processes are an error
  std::function<void()> prepare_;  // called after parsing, before files are checked
  std::string advice_;             // appended to errors about memory

 private:
  struct File {
    std::string flag;
    FileUse use;
    std::function<Paths()> paths;
  };
  template <class T>
  void add_number(const char* flag, T& value, const char* what, Range<T> range, Need need);
  void add_option(const char* flag, const char* what, const std::string& type, bool has_default,
                  Option option);
  bool parse(int argc, char** argv);
  int run_checked(const std::function<void()>& body);
  void check_output(const File& file, const std::filesystem::path& path) const;
  void check_files() const;

  std::string name_;
  index_t threads_ = 0;
  std::string profile_;
  std::vector<File> files_;
  std::vector<std::function<void()>> at_end_;
  std::unique_ptr<CLI::App> app_;  // only cli.cpp includes CLI11, which takes 5 s to compile
  std::vector<Option> options_;
};

/// The text, the lines and the name in errors of a file, or of standard input if the name is empty
/// or "-". **Errors**: as text::read_text.
std::string input_text(const std::string& file);
std::vector<std::string> input_lines(const std::string& file);
std::string input_name(const std::string& file);
/// "FILE: line 3" for the line with index 2.
std::string line_name(const std::string& file, index_t line);
/// The two texts of each line, separated by a tab. **Errors**: std::runtime_error that names the
/// file and the line: not exactly one tab.
std::vector<text::TextPair> text_pairs(const std::vector<std::string>& lines,
                                       const std::string& file);

/// Opens closed standard streams on /dev/null, so that no other file gets their descriptors. A file
/// above its size limit becomes an error instead of a signal.
void prepare_streams();
/// Writes `error` as one line on standard error, after the program's name; returns the exit code.
int report_error(const std::string& name, const std::string& error);

/// The texts that a program has truncated, and the limit in tokens; reported in one line.
struct CutTexts {
  index_t texts = 0, tokens = 0;

  void add(index_t count, index_t limit) {
    texts += count;
    tokens = limit;
  }
  /// Lets `command` report them at its end. This object must live until then.
  void report_by(Command& command);
};

/// A line for output by programs: escaped(), except for its tabs.
std::string escaped_line(std::string_view line);
/// Seconds as "1:05:09" or "0:21".
std::string clock_time(double seconds);
/// The present time in UTC, in a format of strftime.
std::string utc_now(const char* format);

/// A line on a terminal that is redrawn at most 10 times per second, and disappears at the end.
class StatusLine {
 public:
  /// On STDOUT_FILENO or STDERR_FILENO.
  explicit StatusLine(int stream) : stream_(stream) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Draws the ASCII text that `text()` returns, cut to the columns. Returns false if the stream is
  /// not a terminal, or is a terminal without columns, as in processes of mpirun.
  bool draw(const std::function<std::string()>& text);
  void clear();

 private:
  int stream_;
  bool is_drawn_ = false;
  std::chrono::steady_clock::time_point drawn_ = {};
};

/// A line like "512/5452 lines 9 % 430 lines/s 0:11 left" on standard error, if it is a terminal.
class Progress {
 public:
  /// `what` names the counted items, "lines".
  explicit Progress(std::string what) : what_(std::move(what)) {}
  /// Removes the line when all are done.
  void show(index_t done, index_t total);

 private:
  std::string what_;
  StatusLine line_{2};
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::examples
