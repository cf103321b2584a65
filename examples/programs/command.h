// The command line of a program that reads files and writes results, and what becomes of errors.
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

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "examples/programs/named_files.h"
#include "examples/programs/range.h"
#include "tensor/kernels/types.h"

namespace tessera::examples {

/// Whether an option may be absent.
enum class Need { kOptional, kRequired };

/// Options, --help and --threads among them, and the call of what the program does.
class Command {
 public:
  Command(std::string name, const std::string& description);
  ~Command();

  /// Options that keep the value's default where they are absent. A text must not be empty: a
  /// script's unset variable gives such a one.
  void add(const char* flag, std::string& value, const char* what, Need need = Need::kOptional);
  void add(const char* flag, std::string& value, const char* what,
           const std::vector<std::string>& choices);
  void add(const char* flag, index_t& value, const char* what, Range<index_t> range,
           Need need = Need::kOptional);
  void add(const char* flag, double& value, const char* what, Range<double> range);
  void add(const char* flag, bool& value, const char* what);

  /// Options that name a file or folder that is read, and a file that is written. An output that is
  /// an input or another output, or cannot be written, is refused before the work begins.
  void add_input(const char* flag, std::string& value, const char* what,
                 Need need = Need::kOptional);
  void add_output(const char* flag, std::string& value, const char* what,
                  Need need = Need::kOptional);

  /// Inputs without a flag.
  void add_argument(const char* name, std::string& value, const char* what);
  void add_arguments(const char* name, std::vector<std::string>& values, const char* what,
                     Need need = Need::kRequired);

  /// Text below the options that --help prints.
  void add_footer(const std::string& text);

  /// Says that the program shares its work among processes() where mpirun starts several; without it
  /// they are refused, because each would do the same.
  void splits_work() { splits_work_ = true; }

  /// Parses the command line, sets the threads, calls `body` and writes what it has printed.
  /// Returns what main() returns: 0, or 2 after one line on standard error.
  int run(int argc, char** argv, const std::function<void()>& body);

  /// The value of --threads; 0 if it was absent.
  index_t threads() const { return threads_; }

 private:
  struct Line;  // of the library that parses it, which takes long to compile

  std::string name_;
  index_t threads_ = 0;
  bool splits_work_ = false;
  NamedFiles files_;
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
