// The files that a command line names: no output may be an input or another output.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::examples {

/// How an output is written.
enum class Output {
  kReplaced,  // a file, as by write_file
  kInPlace,   // a file that grows, or a device
  kFolder,    // a folder of its own, in which no other output may be
};

/// The files that each option reads or writes. Options are named before the command line is parsed,
/// so this keeps the addresses of their values, which are empty where an option is absent.
class NamedFiles {
 public:
  /// A file, or a folder with the model files in it.
  void add_input(std::string flag, const std::string& path);
  void add_inputs(std::string flag, const std::vector<std::string>& paths);
  void add_output(std::string flag, const std::string& path, Output how = Output::kReplaced);
  /// A file of the folder `path` that is read and written: no output may be that file.
  void add_checkpoint(std::string flag, const std::string& folder, std::string file);

  /// The first path that an option names; empty if there is none.
  std::string named(const std::string& flag) const;

  /// Checks all outputs before the work begins, in the process that writes them; standard input and
  /// output are files as well, if they are redirected. Links are followed.
  /// **Errors**: std::invalid_argument in the name of `program`: an output that is an input, a file of a
  /// model that is one, or another output, or is in the folder of one; std::runtime_error: as
  /// check_writable().
  void check(const std::string& program) const;

 private:
  enum class Role { kRead, kWritten, kCheckpoint };
  struct Named {
    std::string flag;
    std::function<std::vector<std::filesystem::path>()> paths;
    Role role;
    Output how = Output::kReplaced;
  };

  void check_output(const std::string& program, const Named& output,
                    const std::filesystem::path& file) const;
  bool is_in_new_folder(const std::filesystem::path& file) const;

  std::vector<Named> all_;
};

}  // namespace tessera::examples
