// A lock that shows who is at work on a file or folder. Private.
#pragma once

#include <filesystem>

namespace tessera::detail {

/// A file or folder, open and locked, unless another process or thread holds its lock. The lock ends
/// with this object, or with its process if the process is killed: what nobody holds is stale.
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
  /// Whether somebody else holds the lock.
  bool is_taken() const { return is_taken_; }
  /// Whether this one holds the lock. File systems without locks have none to hold or to take.
  bool is_locked() const { return is_locked_; }
  /// Whether `path` is open, nobody else holds its lock, and `path` is still its name: its last owner
  /// may have removed it before the lock was free.
  bool is_ours() const { return is_ours_; }

 private:
  int descriptor_;
  int error_ = 0;
  bool is_taken_ = false;
  bool is_locked_ = false;
  bool is_ours_ = false;
};

}  // namespace tessera::detail
