#include "tessera/tensor/io/detail/replacement.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "tessera/tensor/error.h"

namespace tessera::detail {

namespace fs = std::filesystem;

namespace {

bool is_named(int descriptor, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

constexpr std::string_view kPrefix = ".tessera-";
constexpr std::string_view kSuffix = ".tmp";

/// Removes a file or folder that a killed process left: one without a lock. A failure is not an
/// error.
void remove_if_stale(const fs::path& path) {
  const LockedFile file(path, O_RDONLY);
  std::error_code ignored;
  if (file.is_locked() && file.is_ours()) fs::remove_all(path, ignored);
}

/// Removes what killed processes left in `folder`. libstdc++'s directory_iterator ends the process
/// if memory runs out.
void remove_stale(const fs::path& folder) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> entries(::opendir(folder.c_str()), close);
  if (!entries) return;
  while (const dirent* const entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    remove_if_stale(folder / name);
  }
}

/// The name of an old folder between the two renames of exchange().
fs::path old_name(const fs::path& target) {
  return folder_of(target) / str_cat(kPrefix, target.filename().string(), ".old");
}

/// Removes an old folder that a killed process left. **Errors**: the process was killed between the
/// two renames.
void remove_old(const fs::path& target) {
  if (!is_there(old_name(target))) return;
  if (!is_there(target)) {
    fail_file(target.string(), "must be there, but a killed process renamed it to ",
              printable(old_name(target).filename().string()),
              "; rename it back, or remove that folder");
  }
  remove_if_stale(old_name(target));
}

/// Exchanges the names of two folders. `target` exists at all times, unless the file system cannot
/// exchange names.
bool exchange(const fs::path& made, const fs::path& target) {
#if defined(RENAME_EXCHANGE)
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS) return false;
#endif
  const fs::path old = old_name(target);
  if (::rename(target.c_str(), old.c_str()) != 0) return false;
  const bool moved = ::rename(made.c_str(), target.c_str()) == 0;
  const int error = errno;
  ::rename(old.c_str(), moved ? made.c_str() : target.c_str());
  errno = error;
  return moved;
}

/// A part of a name, different at each call and in each running process.
std::string process_and_number() {
  static std::atomic<unsigned> counter{0};
  return str_cat(::getpid(), '-', counter++);
}

}  // namespace

LockedFile::LockedFile(const fs::path& path, int flags)
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

Replacement::Replacement(fs::path target, Kind kind) : target_(std::move(target)), kind_(kind) {
  if (kind == Kind::kFolder) remove_old(target_);  // before a complete new folder is removed
  remove_stale(folder_of(target_));
  create();
}

Replacement::~Replacement() {
  if (path_.empty()) return;
  if (kind_ == Kind::kFile) {
    ::unlink(path_.c_str());
    return;
  }
  try {
    fs::remove_all(path_);
  } catch (...) {
    // A later process removes the rest, which is stale.
  }
}

/// Makes a new name and locks it, so that no other process removes it as stale. If that happens
/// between the two steps, makes another.
void Replacement::create() {
  const bool is_file = kind_ == Kind::kFile;
  int error = ENOLCK;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    path_ = folder_of(target_) / str_cat(kPrefix, process_and_number(), kSuffix);
    error = is_file || ::mkdir(path_.c_str(), 0777) == 0 ? 0 : errno;
    if (error == 0) {
      lock_.emplace(path_, is_file ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY | O_DIRECTORY);
      if (lock_->is_ours()) return;
      error = lock_->error();
      if (!is_file && error == ENOENT) continue;
      if (!is_file || error == 0) ::remove(path_.c_str());  // this process has made it
    }
    if (error != 0 && error != EEXIST) break;
  }
  path_.clear();
  fail_file(target_.string(),
            is_file ? "cannot create a file in its folder: " : "cannot make a folder next to it: ",
            system_message(error != 0 ? error : ENOLCK));
}

void Replacement::check(bool good, const char* what) const {
  if (!good) fail_file(target_.string(), what, ": ", system_message(errno));
}

void Replacement::write(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::write(lock_->descriptor(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    check(n >= 0, "cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

/// The file stays open, and locked, until it has its new name; fsync reports the errors of close.
void Replacement::take_the_place() {
  if (kind_ == Kind::kFolder) return take_the_place_of_a_folder();
  check(::fsync(lock_->descriptor()) == 0, "cannot write to disk");
  check(::rename(path_.c_str(), target_.c_str()) == 0, "cannot replace");
  path_.clear();
  // The new name should survive a power cut too. Some file systems do not support fsync of folders.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_CLOEXEC);
  if (folder < 0) return;
  const int error = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  errno = error;
  check(error == 0 || error == EINVAL || error == ENOTSUP,
        "written, but cannot write its folder to disk");
}

void Replacement::take_the_place_of_a_folder() {
  const bool moved =
      is_there(target_) ? exchange(path_, target_) : ::rename(path_.c_str(), target_.c_str()) == 0;
  const int error = errno;
  const fs::path old = std::exchange(path_, {});
  if (!moved) {
    fs::path kept;  // never stale
    do {
      kept = folder_of(target_) /
             str_cat(target_.filename().string(), ".saving-", process_and_number());
    } while (is_there(kept));
    const bool renamed = ::rename(old.c_str(), kept.c_str()) == 0;
    fail_file(target_.string(), "cannot give the new folder this name: ", system_message(error),
              "; the new folder is ", printable((renamed ? kept : old).string()));
  }
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

std::string system_message(int error) {
  return std::generic_category().message(error);
}

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

}  // namespace tessera::detail
