// A lock on a file or folder that one process or thread works on. Private.
#pragma once

#include <filesystem>

namespace tessera::detail {

/// A file or folder, open and locked, unless another process or thread holds its lock. The lock
/// ends with this object or with its process, even if the process is killed: a file that is not
/// locked is stale.
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
  /// Whether this object holds the lock; never on a file system without locks, nor is_taken().
  bool is_locked() const { return is_locked_; }
  /// Whether the file is open, not taken, and `path` is still its name: its last owner may have
  /// removed the file before the lock was free.
  bool is_ours() const { return is_ours_; }

 private:
  int descriptor_;
  int error_ = 0;
  bool is_taken_ = false;
  bool is_locked_ = false;
  bool is_ours_ = false;
};

}  // namespace tessera::detail
