// The right of one run to write a folder.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::examples {

/// A lock on a file that is made for it and removed in the end. It goes with the process, however that
/// ends: a file that a killed process has left is taken over. On a file system without locks it
/// refuses nobody.
class RunLock {
 public:
  /// **Errors**: std::runtime_error that names `folder`: another run holds the lock; the file cannot
  /// be made.
  RunLock(std::filesystem::path file, const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace tessera::examples
