// The files that a command line names: no output may be an input or another output.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::examples {

/// How a program uses a file.
enum class FileUse {
  kInput,       // a file, or a folder with the model files in it
  kReplaced,    // written as by write_file
  kInPlace,     // written, a file that grows or a device
  kFolder,      // written, a folder of its own, in which no other output may be
  kCheckpoint,  // read and written: no output may be that file
};

/// The files that each option names. Options are added before the command line is parsed, so their
/// paths are read later, by functions. A path is empty if its option is absent.
class NamedFiles {
 public:
  using Paths = std::vector<std::filesystem::path>;

  void add(std::string flag, FileUse use, std::function<Paths()> paths) {
    all_.push_back({std::move(flag), use, std::move(paths)});
  }
  /// Adds the file that `path` will name after parsing.
  void add(std::string flag, FileUse use, const std::string& path) {
    add(std::move(flag), use, [&path] { return Paths{path}; });
  }

  /// The first path that an option names; empty if there is none.
  std::string named(const std::string& flag) const;

  /// Checks all outputs before the work begins, in the process that writes them; standard input and
  /// output are files as well, if they are redirected. Links are followed.
  /// **Errors**: std::invalid_argument in the name of `program`: an output that is an input, a file of a
  /// model that is one, or another output, or is in the folder of one; std::runtime_error: as
  /// check_writable().
  void check(const std::string& program) const;

 private:
  struct Named {
    std::string flag;
    FileUse use;
    std::function<Paths()> paths;
  };

  void check_output(const std::string& program, const Named& output,
                    const std::filesystem::path& file) const;
  bool is_in_new_folder(const std::filesystem::path& file) const;

  std::vector<Named> all_;
};

}  // namespace tessera::examples
