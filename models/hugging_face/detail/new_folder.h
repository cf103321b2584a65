// A folder that appears completely or not at all.
#pragma once

#include <filesystem>
#include <string>

#include "tessera/tensor/io/detail/replacement.h"

namespace tessera::models {

/// A folder that is filled next to `target`, under a different name, and then replaces `target`.
///
/// After any error `target` is unchanged. A process that is killed leaves the other folder,
/// `.tessera-PID-N.tmp`; the next write to the same place removes it.
/// **Errors**: std::runtime_error that names the target: a file, a folder that is not empty unless
/// `overwrite` is set, or one where a file system is mounted; a location in which no folder can be
/// made; a killed process left the target under another name, on file systems that cannot exchange
/// two names.
class NewFolder {
 public:
  NewFolder(const std::filesystem::path& target, bool overwrite);

  /// The folder to write to.
  const std::filesystem::path& path() const { return folder_.path(); }
  /// A folder in it, made if it does not exist.
  std::filesystem::path subfolder(const std::string& name) const;
  /// **Errors**: the constructor's, for the present target; the target contains a file that the new
  /// folder lacks, which would be lost.
  void check_place() const;
  /// **Errors**: as check_place; the folder cannot be renamed, and stays under a different name.
  void take_the_place();

 private:
  std::filesystem::path target_;
  bool overwrite_;
  tessera::detail::Replacement folder_;
};

}  // namespace tessera::models
