#include "tessera/tensor/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tessera/tensor/io/detail/replacement.h"
#include "tessera/tensor/profile_span.h"

namespace tessera {

using detail::folder_of;
using detail::LockedFile;
using detail::Replacement;
using detail::system_message;

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_file(name_, "cannot open: ", system_message(errno));
  struct stat status {};
  const int error = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISREG(status.st_mode)) {
    size_ = status.st_size;
    return;
  }
  ::close(descriptor_);
  fail_file(name_, error != 0 ? system_message(error) : "must be a regular file");
}

InputFile::~InputFile() {
  ::close(descriptor_);
}

void InputFile::read(index_t offset, void* to, index_t bytes) const {
  auto* out = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t n = ::pread(descriptor_, out, static_cast<std::size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_file(name_, "byte ", offset, ": cannot read: ", system_message(errno));
    if (n == 0)
      fail_file(name_, "byte ", offset, ": must have ", bytes,
                " more bytes, got the end of the file");
    out += n;
    offset += n;
    bytes -= n;
  }
}

std::shared_ptr<std::byte> InputFile::map(index_t offset, index_t bytes) const {
  struct stat status {};
  const bool is_there = ::fstat(descriptor_, &status) == 0 && offset <= status.st_size &&
                        bytes <= status.st_size - offset;
  if (!is_there) return {};
  const index_t before = offset % ::sysconf(_SC_PAGESIZE);  // mappings begin with a page
  const auto size = static_cast<std::size_t>(before + bytes);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                              descriptor_, offset - before);
  if (memory == MAP_FAILED) return {};
  const std::shared_ptr<void> mapping(memory, [size](void* first) { ::munmap(first, size); });
  return {mapping, static_cast<std::byte*>(memory) + before};
}

void FileRegion::read(index_t offset, void* to, index_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset) {
    fail_file(name, "byte ", offset, ": read must end inside the region of ", size, " bytes, got ",
              bytes, " bytes");
  }
  file.read(begin + offset, to, bytes);
}

void refuse_incomplete_download(const InputFile& file) {
  std::string head(static_cast<std::size_t>(std::min<index_t>(file.size(), 256)), '\0');
  file.read(0, head.data(), std::ssize(head));
  if (head.starts_with("version https://git-lfs")) {
    fail_file(file.name(),
              "must be the file itself, got a Git LFS pointer; run git lfs pull, or download the "
              "file itself");
  }
  const std::size_t first = head.find_first_not_of("\xef\xbb\xbf \t\r\n");
  head.erase(0, std::min(first, head.size()));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (head.starts_with("<!doctype html") || head.starts_with("<html")) {
    fail_file(file.name(),
              "must be the file itself, got an HTML page; download the file itself, not the page "
              "that shows it");
  }
}

namespace {

/// A device or a pipe must not be replaced: a user who may write to /dev would break /dev/null for
/// all.
void check_target(const std::filesystem::path& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) return;  // no such file yet
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    fail_file(target.string(), "must be a regular file to be replaced");
  }
}

}  // namespace

void check_writable(const std::filesystem::path& path) {
  check_target(path);
  struct stat status {};
  const int error = ::lstat(path.c_str(), &status) == 0 ? 0 : errno;
  if (error == 0 && S_ISDIR(status.st_mode))
    fail_file(path.string(), "must be a file, got a folder");
  if (error != 0 && error != ENOENT) {
    fail_file(path.string(), "cannot create: ", system_message(error));
  }
  const Replacement file(path, Replacement::Kind::kFile);
}

void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts) {
  const ProfileScope scope("write file");
  check_target(path);
  Replacement file(path, Replacement::Kind::kFile);
  for (const auto& part : parts) file.write(part);
  file.take_the_place();
}

FileLock::FileLock(std::filesystem::path file, const std::string& folder) : file_(std::move(file)) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    lock_ = std::make_unique<LockedFile>(file_, O_RDWR | O_CREAT);
    if (lock_->error() != 0) {
      fail_file(folder, "cannot be locked: ", system_message(lock_->error()));
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

FileLock::~FileLock() {
  ::unlink(file_.c_str());
}

std::shared_ptr<const FileLock> lock_folder(const std::filesystem::path& folder,
                                            const std::string& file) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_file(folder.string(), "cannot make this folder: ", error.message());
  check_writable(folder / file);
  return std::make_shared<const FileLock>(folder / ".lock", folder.string());
}

namespace {

std::filesystem::path resolved(const std::filesystem::path& path) {
  std::error_code error;
  auto result = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : result;
}

/// The present or future locations of a file: the path itself, and the target of its links, which
/// need not exist.
std::array<std::filesystem::path, 2> places_of(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  const std::filesystem::path place = resolved(folder_of(path)) / path.filename();
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return {place, resolved(path)};
}

}  // namespace

bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto others = places_of(b);
  return std::ranges::any_of(places_of(a), [&](const std::filesystem::path& place) {
    return std::ranges::find(others, place) != others.end();
  });
}

bool is_in_folder(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const std::filesystem::path whole = resolved(folder);
  return std::ranges::any_of(places_of(file), [&](const std::filesystem::path& place) {
    const std::filesystem::path relative = place.lexically_relative(whole);
    return !relative.empty() && *relative.begin() != "..";
  });
}

}  // namespace tessera
