#include "models/hugging_face/new_folder.h"

#include <unistd.h>

#include <atomic>
#include <system_error>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::models {

namespace fs = std::filesystem;

namespace {

/// The folder itself where `target` is a link to it, or ends with a slash.
fs::path resolved(const fs::path& target) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(target, error), error);
  if (error) fail_file(target.string(), "cannot save a folder there: ", error.message());
  return path.has_filename() ? path : path.parent_path();
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

}  // namespace

void NewFolder::check_target(const fs::path& target, bool overwrite) {
  const fs::path path = resolved(target);
  std::error_code error;
  if (!is_there(path)) {
    if (fs::is_directory(path.parent_path(), error)) return;
    fail_file(target.string(),
              "cannot save a folder there: ", printable(path.parent_path().string()),
              " is no folder");
  }
  if (!fs::is_directory(path, error)) {
    fail_file(target.string(), "cannot save a folder there: a file is in its place");
  }
  const bool empty = fs::is_empty(path, error);
  if (error) fail_file(target.string(), "cannot be read: ", error.message());
  if (!empty && !overwrite) {
    fail_file(target.string(),
              "the folder is there and not empty; overwriting it was not asked for");
  }
}

NewFolder::NewFolder(const fs::path& target, bool overwrite)
    : target_(resolved(target)), overwrite_(overwrite) {
  check_target(target, overwrite);
  static std::atomic<unsigned> counter{0};
  std::error_code error;
  do {
    path_ = target_.parent_path() /
            format('.', target_.filename().string(), ".saving-", ::getpid(), '-', counter++);
  } while (is_there(path_));
  if (fs::create_directory(path_, error)) return;
  path_.clear();
  fail_file(target.string(), "cannot make a folder beside it: ", error.message());
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
    fail_file(target_.string(), "not overwritten: it has ", printable(name.string()),
              ", which the new folder has not");
  }
  if (error) fail_file(target_.string(), "cannot be read: ", error.message());
}

void NewFolder::take_the_place() {
  check_target(target_, overwrite_);  // it may have been made meanwhile
  std::error_code error;
  const bool replaces = fs::is_directory(target_, error) && !fs::is_empty(target_, error);
  const fs::path old = path_.string() + "-old";
  if (replaces) {
    check_that_nothing_is_lost();
    fs::rename(target_, old, error);
    if (error) fail_file(target_.string(), "cannot be replaced: ", error.message());
  }
  fs::rename(path_, target_, error);
  if (error) {
    std::error_code ignored;
    if (replaces) fs::rename(old, target_, ignored);
    fail_file(target_.string(), "cannot give the new folder this name: ", error.message());
  }
  path_.clear();
  if (replaces) fs::remove_all(old, error);
}

}  // namespace tessera::models
