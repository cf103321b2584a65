// The command line of a program: its options, the processes it runs on, and what becomes of errors.
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

/// The numbers that an option may be, written in plain decimal. NaN is in no range.
template <class T>
struct Range {
  T low, high;
};

/// The largest count that an option takes.
inline constexpr index_t kMany = 1'000'000'000;

/// Thrown when a signal has stopped a run, which is saved: Program::run then returns 128 + signal, as a
/// shell reports a process that the signal has ended.
struct StoppedBySignal {
  int signal;
};

/// Options, --help, --threads and --profile among them, and the call of what the program does.
class Command {
  struct Entry;  // an option, by the library that parses it, which takes long to compile
  struct Line;   // all of them

 public:
  Command(std::string name, const std::string& description);
  ~Command();

  /// An option that was added.
  class Option {
   public:
    /// Refuses a command line without it.
    const Option& required() const;
    /// Makes it part of a run: kept_values() has it, and restore() takes it from there.
    const Option& kept() const;

   private:
    friend class Command;
    explicit Option(Entry* entry) : entry_(entry) {}
    Entry* entry_;
  };

  /// Options that keep the value's default where they are absent. A text must not be empty: a
  /// script's unset variable gives such a one.
  Option add(const char* flag, std::string& value, const char* what);
  Option add(const char* flag, std::string& value, const char* what,
             const std::vector<std::string>& choices);
  Option add(const char* flag, index_t& value, const char* what, Range<index_t> range);
  Option add(const char* flag, double& value, const char* what, Range<double> range);
  Option add(const char* flag, std::uint64_t& value, const char* what);
  void add(const char* flag, bool& value, const char* what);
  /// An option with one value or more.
  void add(const char* flag, std::vector<std::string>& values, const char* what);

  /// Options that name a file or folder that is read, and what is written. An output that is an input
  /// or another output, or cannot be written, is refused before the work begins.
  Option add_input(const char* flag, std::string& value, const char* what);
  Option add_output(const char* flag, std::string& value, const char* what,
                    FileUse how = FileUse::kReplaced);

  /// Inputs without a flag.
  void add_argument(const char* name, std::string& value, const char* what);
  Option add_arguments(const char* name, std::vector<std::string>& values, const char* what);

  /// Text below the options that --help prints.
  void add_footer(const std::string& text);

  /// Says that the program shares its work among processes() where mpirun starts several; without it
  /// they are refused, because each would do the same.
  void splits_work() { splits_work_ = true; }

  /// Joins the processes that were started with this one, parses the command line, sets the threads,
  /// calls `body` and writes what it has printed. Returns what main() returns: 0; 2 after one line on
  /// standard error; 128 + the signal after StoppedBySignal.
  int run(int argc, char** argv, const std::function<void()>& body);

  const std::string& name() const { return name_; }
  /// The value of --threads; 0 if it was absent.
  index_t threads() const { return threads_; }
  /// The file that this call names by `flag`; empty if it names none.
  std::string file(const std::string& flag) const { return files_.named(flag); }
  /// All options of this call by their flags, defaults too.
  nn::NamedTexts values() const;

 protected:
  /// run() that also calls `prepare`, after it parses the command line and before it checks files.
  int run(int argc, char** argv, const std::function<void()>& prepare,
          const std::function<void()>& body);

  /// Whether this call gives the option; false if the program does not have the option.
  bool is_given(const std::string& flag) const;
  /// The options that this call gives, except some, as a command line has them.
  std::vector<std::string> given(const std::vector<std::string>& except) const;
  /// Throws unless this is a kept option that may have the value.
  void check_kept(const std::string& flag, const std::string& value);

  /// The kept options as a checkpoint has them.
  nn::Checkpoint kept_values() const;
  /// Gives the kept options the values in a checkpoint, with the checks of a command line.
  /// **Errors**: std::runtime_error with the file's name: a value that the option refuses, or another
  /// one than this call gives.
  void restore(const nn::Checkpoint& checkpoint);
  /// Gives one option the value `text`, with the same checks, unless this call gives it.
  void restore(const char* flag, const std::string& text, const std::string& file);

  NamedFiles files_;
  std::string advice_;  // appended to errors of memory

 private:
  template <class T>
  Option add_number(const char* flag, T& value, const char* what, Range<T> range);

  std::string name_;
  index_t threads_ = 0;
  std::string profile_;
  bool splits_work_ = false;
  std::unique_ptr<Line> line_;
};

/// All bytes of standard input. Of several processes rank 0 reads them, and all call this and have
/// them. **Errors**: std::runtime_error: it cannot be read.
std::string standard_input();
/// The whole text of a file, or of standard input where the name is empty or "-", as
/// text::read_text gives it. Each of several processes reads the file. **Errors**: as there; a
/// file that is not the same to all processes.
std::string input_text(const std::string& file);
/// Its lines. **Errors**: as input_text.
std::vector<std::string> input_lines(const std::string& file);
/// The name of that input in errors.
std::string input_name(const std::string& file);

}  // namespace tessera::examples
