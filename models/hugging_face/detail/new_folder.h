// A folder that appears completely or not at all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "tensor/io/detail/locked_file.h"

namespace tessera::models {

/// A folder that is filled next to `target`, under a different name, and then replaces `target`.
///
/// After any error `target` is unchanged. A process that is killed leaves the other folder,
/// `.NAME.saving-...`; the next one that saves the same target removes it.
/// **Errors**: std::runtime_error that names the target: a file, a folder that is not empty unless
/// `overwrite` is set, or one where a file system is mounted; a location in which no folder can be
/// made; a killed process left the target under another name, on file systems that cannot exchange
/// two names.
class NewFolder {
 public:
  NewFolder(const std::filesystem::path& target, bool overwrite);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// The folder to write to.
  const std::filesystem::path& path() const { return path_; }
  /// A folder in it, made if it does not exist.
  std::filesystem::path subfolder(const std::string& name) const;
  /// **Errors**: the constructor's, for the present target; the target contains a file that the new
  /// folder lacks, which would be lost.
  void check_place() const;
  /// **Errors**: as check_place; the folder cannot be renamed, and keeps its other name.
  void take_the_place();

 private:
  /// The constructor's errors about the target, without making a folder.
  static void check_target(const std::filesystem::path& target, bool overwrite);
  void make_and_lock();
  void check_that_nothing_is_lost() const;

  std::filesystem::path target_;
  std::filesystem::path path_;              // empty after take_the_place()
  std::optional<detail::LockedFile> lock_;  // on that folder, while it is filled
  bool overwrite_;
};

}  // namespace tessera::models
