#include "tensor/io/detail/locked_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tessera::detail {

namespace {

bool is_named(int descriptor, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

LockedFile::LockedFile(const std::filesystem::path& path, int flags)
    : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666)) {
  if (descriptor_ < 0) {
    error_ = errno;
    return;
  }
  is_locked_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  is_taken_ = !is_locked_ && errno == EWOULDBLOCK;
  is_ours_ = !is_taken_ && is_named(descriptor_, path);
}

LockedFile::~LockedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace tessera::detail
