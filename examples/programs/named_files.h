// The files of a command line: no output may be an input or another output.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::examples {

/// The use of a file by a program.
enum class FileUse {
  kInput,       // a file, or a folder with model files
  kReplaced,    // written as by write_file
  kInPlace,     // written: a file that grows, or a device
  kFolder,      // written: a folder, in which no other output may be
  kCheckpoint,  // read and written; no output may be this file
};

/// The files named by the options. Options are added before the command line is parsed, so
/// functions read their paths later. A path is empty if its option is absent.
class NamedFiles {
 public:
  using Paths = std::vector<std::filesystem::path>;

  void add(std::string flag, FileUse use, std::function<Paths()> paths) {
    all_.push_back({std::move(flag), use, std::move(paths)});
  }
  /// Adds the file that `path` names after parsing.
  void add(std::string flag, FileUse use, const std::string& path) {
    add(std::move(flag), use, [&path] { return Paths{path}; });
  }

  /// The first path of an option; empty if there is none.
  std::string named(const std::string& flag) const;

  /// Checks all outputs before the work begins, in the process that writes them. Standard input and
  /// output are also files if they are redirected. Links are followed.
  /// **Errors**:
  /// std::invalid_argument that begins with `program`: an output that is an input, a file of an
  /// input model, another output, or in the folder of one; std::runtime_error: as check_writable().
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
