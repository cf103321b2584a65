// A new file or folder that replaces an old one completely or not at all, and its lock. Private.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>

namespace tessera::detail {

/// A file or folder, open and, unless another process or thread holds its lock, locked. The lock
/// ends with this object or with its process, even if the process is killed. So a file without a
/// lock is stale.
class LockedFile {
 public:
  /// Opens `path` with these flags of open(2), but not through a symbolic link, and never waits.
  LockedFile(const std::filesystem::path& path, int flags);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int descriptor() const { return descriptor_; }
  /// The errno of a `path` that cannot be opened; 0 if it is open.
  int error() const { return error_; }
  /// Whether another process or thread holds the lock.
  bool is_taken() const { return is_taken_; }
  /// Whether this object holds the lock. On a file system without locks, this and is_taken() are
  /// false.
  bool is_locked() const { return is_locked_; }
  /// Whether the file is open, is not taken, and still has the name `path`: its last owner may have
  /// removed the file before the lock was free.
  bool is_ours() const { return is_ours_; }

 private:
  int descriptor_;
  int error_ = 0;
  bool is_taken_ = false;
  bool is_locked_ = false;
  bool is_ours_ = false;
};

/// A new file or folder next to `target`, which takes the place of `target` in one step. Until then
/// the new one is locked and named `.tessera-PID-N.tmp`, and the destructor removes it. The
/// constructor removes such files and folders of killed processes, which have no lock.
/// **Errors**: std::runtime_error that names the target.
class Replacement {
 public:
  enum class Kind { kFile, kFolder };

  Replacement(std::filesystem::path target, Kind kind);
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  /// The new file or folder.
  const std::filesystem::path& path() const { return path_; }
  /// Writes to the end of the file.
  void write(std::span<const std::byte> bytes) const;
  /// Gives the new file or folder the target's name. A folder that cannot get this name stays in
  /// the same place under a different name, which the error contains.
  void take_the_place();

 private:
  void create();
  void take_the_place_of_a_folder();
  void check(bool good, const char* what) const;

  std::filesystem::path target_;
  Kind kind_;
  std::filesystem::path path_;  // empty if there is nothing to remove
  std::optional<LockedFile> lock_;
};

/// Whether there is a file, a folder or a link with this name.
bool is_there(const std::filesystem::path& path);
/// The message of an errno.
std::string system_message(int error);
/// The folder that contains the file.
std::filesystem::path folder_of(const std::filesystem::path& file);

}  // namespace tessera::detail
