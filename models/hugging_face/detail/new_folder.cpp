#include "models/hugging_face/detail/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/io/detail/locked_file.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

/// The actual folder if `target` is a link to it, or ends with a slash.
fs::path resolved(const fs::path& target) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(target, error), error);
  if (error) fail_file(target.string(), "cannot save a folder here: ", error.message());
  return path.has_filename() ? path : path.parent_path();
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

/// Whether a file system is mounted at this folder, which then cannot be renamed.
bool is_mounted(const fs::path& folder) {
  struct stat inside {
  }, outside{};
  return ::stat(folder.c_str(), &inside) == 0 &&
         ::stat(folder.parent_path().c_str(), &outside) == 0 && inside.st_dev != outside.st_dev;
}

constexpr const char* kOld = "-old";

/// The beginning of the names of new folders for `target`.
std::string prefix_of(const fs::path& target) {
  return str_cat('.', target.filename().string(), ".saving-");
}

/// Removes the folders that killed processes left for `target`: no process holds their locks.
/// **Errors**: one of these is the old target itself, because the process was killed between the
/// two renames of exchange().
void remove_stale_folders(const fs::path& target) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(target.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix_of(target))) continue;
    if (name.ends_with(kOld) && !is_there(target)) {
      fail_file(target.string(), "must be there, but a killed process renamed it to ",
                printable(name), "; rename it back, or remove that folder");
    }
    found.push_back(entry->path());
  }
  for (const fs::path& folder : found) {
    const detail::LockedFile lock(folder, O_RDONLY | O_DIRECTORY);
    if (lock.is_locked() && lock.is_ours()) fs::remove_all(folder, error);
  }
}

/// Exchanges the names of `a` and `b`, which exists. `b` exists at all times, unless the file
/// system cannot exchange names.
bool exchange(const fs::path& a, const fs::path& b) {
#if defined(RENAME_EXCHANGE)
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
#endif
  const std::string old = a.string() + kOld;
  if (::rename(b.c_str(), old.c_str()) != 0) return false;
  const bool moved = ::rename(a.c_str(), b.c_str()) == 0;
  const int error = errno;
  ::rename(old.c_str(), moved ? a.c_str() : b.c_str());
  errno = error;
  return moved;
}

}  // namespace

void NewFolder::check_target(const fs::path& target, bool overwrite) {
  const fs::path path = resolved(target);
  std::error_code error;
  if (!is_there(path)) {
    if (fs::is_directory(path.parent_path(), error)) return;
    fail_file(target.string(),
              "cannot save a folder here: ", printable(path.parent_path().string()),
              " is not a folder");
  }
  if (!fs::is_directory(path, error)) {
    fail_file(target.string(), "must be a folder or absent, got a file");
  }
  if (is_mounted(path)) {
    fail_file(target.string(), "must not be a mount point; save to a folder in it");
  }
  const bool empty = fs::is_empty(path, error);
  if (error) fail_file(target.string(), "cannot read: ", error.message());
  if (!empty && !overwrite) {
    fail_file(target.string(),
              "must be absent or empty unless overwrite is set, got a folder that is not empty");
  }
}

NewFolder::NewFolder(const fs::path& target, bool overwrite)
    : target_(resolved(target)), overwrite_(overwrite) {
  remove_stale_folders(target_);
  check_target(target, overwrite);
  for (int attempt = 0; attempt < 100; ++attempt) {
    make_and_lock();
    if (lock_->is_ours()) return;  // otherwise a process removed it as stale between the two steps
    std::error_code error;
    fs::remove(std::exchange(path_, {}), error);
  }
  fail_file(target_.string(), "cannot lock a folder next to it");
}

void NewFolder::make_and_lock() {
  static std::atomic<unsigned> counter{0};
  std::error_code error;
  do {
    path_ = target_.parent_path() / str_cat(prefix_of(target_), ::getpid(), '-', counter++);
  } while (is_there(path_));
  if (!fs::create_directory(path_, error)) {
    path_.clear();
    fail_file(target_.string(), "cannot make a folder next to it: ", error.message());
  }
  lock_.emplace(path_, O_RDONLY | O_DIRECTORY);
  if (lock_->error() != 0 && lock_->error() != ENOENT) {
    fs::remove(std::exchange(path_, {}), error);
    fail_file(target_.string(),
              "cannot lock a folder next to it: ", std::generic_category().message(lock_->error()));
  }
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

fs::path NewFolder::subfolder(const std::string& name) const {
  std::error_code error;
  fs::create_directory(path_ / name, error);
  if (error) fail_file((target_ / name).string(), "cannot make the folder: ", error.message());
  return path_ / name;
}

void NewFolder::check_that_nothing_is_lost() const {
  std::error_code error;
  for (fs::recursive_directory_iterator at(target_, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path name = at->path().lexically_relative(target_);
    if (is_there(path_ / name)) continue;
    fail_file(target_.string(), "must have no file that the new folder does not have, got ",
              printable(name.string()), "; remove it, or save to a different folder");
  }
  if (error) fail_file(target_.string(), "cannot read: ", error.message());
}

void NewFolder::check_place() const {
  check_target(target_, overwrite_);  // the target may have been made meanwhile
  if (is_there(target_)) check_that_nothing_is_lost();
}

void NewFolder::take_the_place() {
  check_place();
  const bool moved =
      is_there(target_) ? exchange(path_, target_) : ::rename(path_.c_str(), target_.c_str()) == 0;
  const std::error_code error(errno, std::generic_category());
  const fs::path old = std::exchange(path_, {});
  if (!moved) {
    const fs::path kept = old.parent_path() / old.filename().string().substr(1);  // never stale
    const bool renamed = ::rename(old.c_str(), kept.c_str()) == 0;
    fail_file(target_.string(), "cannot give the new folder this name: ", error.message(),
              "; the new folder is ", printable((renamed ? kept : old).string()));
  }
  std::error_code ignored;
  fs::remove_all(old, ignored);
}

}  // namespace tessera::models
