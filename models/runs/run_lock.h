// A lock that allows only one run to write to a folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace tessera::detail {
class LockedFile;
}

namespace tessera::runs {

/// A lock on a file, which is created for the lock and removed at the end. The lock ends with the
/// process, even if the process is killed: the next run reuses the file. On a file system without
/// locks, RunLock has no effect.
class RunLock {
 public:
  /// **Errors**: std::runtime_error that names `folder`: another run holds the lock; the file
  /// cannot be made.
  RunLock(std::filesystem::path file, const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path file_;
  std::unique_ptr<detail::LockedFile> lock_;
};

/// Makes the folder of a run's checkpoints, if it does not exist, and locks the folder; the run
/// will write `file` there. **Errors**: as RunLock; the folder cannot be made, or `file` cannot be
/// written.
std::shared_ptr<const RunLock> lock_of_checkpoints(const std::string& folder, const char* file);

}  // namespace tessera::runs
