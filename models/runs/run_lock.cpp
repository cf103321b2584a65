#include "models/runs/run_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "tensor/error.h"
#include "tensor/io/detail/locked_file.h"
#include "tensor/io/file.h"

namespace tessera::runs {

RunLock::RunLock(std::filesystem::path file, const std::string& folder) : file_(std::move(file)) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    lock_ = std::make_unique<detail::LockedFile>(file_, O_RDWR | O_CREAT);
    if (lock_->error() != 0) {
      fail_file(folder, "cannot be locked: ", std::generic_category().message(lock_->error()));
    }
    if (lock_->is_taken()) {
      fail_file(
          folder,
          "must not be in use, but another run is writing there; wait until it ends, or name a "
          "different folder");
    }
    if (lock_->is_ours()) return;  // otherwise its last owner has just removed it
  }
  fail_file(folder, "cannot be locked");
}

RunLock::~RunLock() {
  ::unlink(file_.c_str());
}

std::shared_ptr<const RunLock> lock_of_checkpoints(const std::string& folder, const char* file) {
  const std::filesystem::path path = folder;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_file(folder, "cannot make this folder: ", error.message());
  check_writable(path / file);
  return std::make_shared<const RunLock>(path / ".lock", folder);
}

}  // namespace tessera::runs
