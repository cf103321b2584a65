#include "tessera/models/hugging_face/detail/new_folder.h"

#include <sys/stat.h>

#include <string>
#include <system_error>

#include "tessera/tensor/error.h"

namespace tessera::models {

namespace fs = std::filesystem;
using tessera::detail::is_there;

namespace {

/// The actual folder if `target` is a link to it, or ends with a slash.
fs::path resolved(const fs::path& target) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(target, error), error);
  if (error) fail_file(target.string(), "cannot save a folder here: ", error.message());
  return path.has_filename() ? path : path.parent_path();
}

/// Whether a file system is mounted at this folder, which then cannot be renamed.
bool is_mounted(const fs::path& folder) {
  struct stat inside {
  }, outside{};
  return ::stat(folder.c_str(), &inside) == 0 &&
         ::stat(folder.parent_path().c_str(), &outside) == 0 && inside.st_dev != outside.st_dev;
}

/// The target as a path without links. **Errors**: as NewFolder.
fs::path checked(const fs::path& target, bool overwrite) {
  fs::path path = resolved(target);
  std::error_code error;
  if (!is_there(path)) {
    if (fs::is_directory(path.parent_path(), error)) return path;
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
  return path;
}

}  // namespace

NewFolder::NewFolder(const fs::path& target, bool overwrite)
    : target_(checked(target, overwrite)),
      overwrite_(overwrite),
      folder_(target_, tessera::detail::Replacement::Kind::kFolder) {}

fs::path NewFolder::subfolder(const std::string& name) const {
  std::error_code error;
  fs::create_directory(path() / name, error);
  if (error) fail_file((target_ / name).string(), "cannot make the folder: ", error.message());
  return path() / name;
}

void NewFolder::check_place() const {
  checked(target_, overwrite_);  // the target may have been made meanwhile
  std::error_code error;
  if (!is_there(target_)) return;
  for (fs::recursive_directory_iterator at(target_, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path name = at->path().lexically_relative(target_);
    if (is_there(path() / name)) continue;
    fail_file(target_.string(), "must have no file that the new folder does not have, got ",
              printable(name.string()), "; remove it, or save to a different folder");
  }
  if (error) fail_file(target_.string(), "cannot read: ", error.message());
}

void NewFolder::take_the_place() {
  check_place();
  folder_.take_the_place();
}

}  // namespace tessera::models
