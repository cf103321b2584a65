// The command line of a program: its options, its processes, and its errors.
//
//   int main(int argc, char** argv) {
//     examples::Command command("count_words", "Counts the words of each line.");
//     std::string file;
//     command.add_argument("FILE", file, "lines of text; standard input if absent");
//     return command.run(argc, argv, [&] {
//       for (const std::string& line : examples::input_lines(file)) ...
//     });
//   }
//
// Results go to standard output, progress and errors to standard error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/programs/named_files.h"
#include "nn/training/checkpoint.h"
#include "nn/training/communicator.h"
#include "tensor/kernels/types.h"

namespace tessera::examples {

/// The permitted numbers of an option, written in plain decimal. NaN is in no range.
template <class T>
struct Range {
  T low, high;
};

/// The largest count of an option.
inline constexpr index_t kMany = 1'000'000'000;

/// Thrown when a signal has stopped a run, which has been saved: Program::run then returns 128 +
/// signal, as a shell does for a process ended by a signal.
struct StoppedBySignal {
  int signal;
};

/// Options, including --help, --threads and --profile, and the call of the program's body.
class Command {
  struct Entry;  // an option of the parsing library, which takes long to compile
  struct Line;   // all options

 public:
  Command(std::string name, const std::string& description);
  ~Command();

  /// An option of the command line.
  class Option {
   public:
    /// Makes the option required.
    const Option& required() const;
    /// Makes the option part of a run: kept_values() returns it, and restore() sets it.
    const Option& kept() const;

   private:
    friend class Command;
    explicit Option(Entry* entry) : entry_(entry) {}
    Entry* entry_;
  };

  /// Options whose default is the value of the variable. A text must not be empty, because this is
  /// usually an unset variable of a script.
  Option add(const char* flag, std::string& value, const char* what);
  Option add(const char* flag, std::string& value, const char* what,
             const std::vector<std::string>& choices);
  Option add(const char* flag, index_t& value, const char* what, Range<index_t> range);
  Option add(const char* flag, double& value, const char* what, Range<double> range);
  Option add(const char* flag, std::uint64_t& value, const char* what);
  void add(const char* flag, bool& value, const char* what);

  /// Options that name a file or folder that is read or written. An output that is an input or
  /// another output, or cannot be written, is an error before the work begins.
  Option add_input(const char* flag, std::string& value, const char* what);
  Option add_output(const char* flag, std::string& value, const char* what,
                    FileUse how = FileUse::kReplaced);

  /// Input files without a flag.
  void add_argument(const char* name, std::string& value, const char* what);
  Option add_arguments(const char* name, std::vector<std::string>& values, const char* what);

  /// Text below the options that --help prints.
  void add_footer(const std::string& text);

  /// Joins the processes that were started with this one, parses the command line, sets the
  /// threads, calls `body` and flushes its output. Returns the exit code for main(): 0; 2 after one
  /// line on standard error; 128 + the signal after StoppedBySignal.
  int run(int argc, char** argv, const std::function<void()>& body);

  const std::string& name() const { return name_; }
  /// The value of --threads; 0 if it was absent.
  index_t threads() const { return threads_; }
  /// The file given by `flag`; empty if there is none.
  std::string file(const std::string& flag) const { return files_.named(flag); }
  /// All options by their flags, including defaults.
  std::vector<std::pair<std::string, std::string>> values() const;
  /// Whether an option has the value that it has without any command line.
  bool is_default(const std::string& flag) const;

 protected:
  /// run() that also calls `prepare`, after the command line was parsed and before files are
  /// checked.
  int run(int argc, char** argv, const std::function<void()>& prepare,
          const std::function<void()>& body);

  /// The kept options in the format of a checkpoint.
  nn::Checkpoint kept_values() const;
  /// Sets the kept options to the values in a checkpoint, with the checks of a command line.
  /// **Errors**: std::runtime_error with the file's name: a value that the option refuses, or one
  /// different from that on the command line.
  void restore(const nn::Checkpoint& checkpoint);
  /// Sets one option to the value `text`, with the same checks, if it is not given on the command
  /// line.
  void restore(const char* flag, const std::string& text, const std::string& file);

  NamedFiles files_;
  bool shares_work_ = false;  // among processes(); without, several processes are an error
  std::string advice_;        // appended to errors about memory

 private:
  bool is_given(const std::string& flag) const;
  template <class T>
  Option add_number(const char* flag, T& value, const char* what, Range<T> range);

  std::string name_;
  index_t threads_ = 0;
  std::string profile_;
  std::unique_ptr<Line> line_;
};

/// All bytes of standard input. **Errors**: std::runtime_error: it cannot be read.
std::string standard_input();
/// The whole text of a file, or of standard input if the name is empty or "-", as from
/// text::read_text. **Errors**: as there.
std::string input_text(const std::string& file);
/// The lines of such an input. **Errors**: as input_text.
std::vector<std::string> input_lines(const std::string& file);
/// The name of such an input in errors.
std::string input_name(const std::string& file);

}  // namespace tessera::examples
