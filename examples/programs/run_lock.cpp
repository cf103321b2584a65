#include "examples/programs/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tensor/error.h"

namespace tessera::examples {

RunLock::RunLock(std::filesystem::path file, const std::string& folder) : file_(std::move(file)) {
  struct stat status = {};
  do {
    if (descriptor_ >= 0) ::close(descriptor_);  // its last owner has just removed it
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) {
      fail_file(folder, "cannot be locked: ", std::generic_category().message(errno));
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor_);
      fail_file(folder,
                "another run is writing there; wait until it ends, or name a different folder");
    }
  } while (::fstat(descriptor_, &status) == 0 && status.st_nlink == 0);
}

RunLock::~RunLock() {
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace tessera::examples
