#include "tensor/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include "tensor/io/detail/locked_file.h"
#include "tensor/profile_span.h"

namespace tessera {

namespace {

std::string system_message(int error) {
  return std::generic_category().message(error);
}

/// Closes the file in its destructor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(path.string()) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_file(name_, "cannot open: ", system_message(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_file(name_, system_message(errno));
  if (!S_ISREG(status.st_mode)) fail_file(name_, "must be a regular file");
  size_ = status.st_size;
  descriptor_ = file.release();
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

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

constexpr std::string_view kTemporaryPrefix = ".tessera-";
constexpr std::string_view kTemporarySuffix = ".tmp";

/// Removes the files that killed writers left in `folder`: no process holds their locks. A failure
/// is not an error.
void remove_stale_files(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(kTemporaryPrefix) && name.ends_with(kTemporarySuffix)) {
      const detail::LockedFile file(entry->path(), O_RDONLY);
      if (file.is_locked() && file.is_ours()) ::unlink(entry->path().c_str());
    }
    entry.increment(error);
  }
}

/// A new file next to `target`; its destructor removes the file unless it replaced the target.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) { create(); }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_->descriptor(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      check(n >= 0, "cannot write");
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  /// The file stays open, and locked, until it has its new name; fsync reports the errors of close.
  void take_the_place() {
    check(::fsync(file_->descriptor()) == 0, "cannot write to disk");
    check(::rename(path_.c_str(), target_.c_str()) == 0, "cannot replace");
    path_.clear();
    // The new name should survive a power cut too. Some file systems do not support fsync of
    // folders.
    const Descriptor folder(::open(folder_of(target_).c_str(), O_RDONLY | O_CLOEXEC));
    if (folder.get() < 0 || ::fsync(folder.get()) == 0) return;
    check(errno == EINVAL || errno == ENOTSUP, "written, but cannot write its folder to disk");
  }

 private:
  /// Creates a new file and locks it, so that no other process removes it as stale. If that happens
  /// between the two steps, creates another.
  void create() {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 1000; ++attempt) {
      path_ = folder_of(target_) /
              str_cat(kTemporaryPrefix, ::getpid(), '-', counter++, kTemporarySuffix);
      file_.emplace(path_, O_WRONLY | O_CREAT | O_EXCL);
      if (file_->is_ours()) return;
      if (file_->error() == 0) {
        ::unlink(path_.c_str());
      } else if (file_->error() != EEXIST) {
        break;
      }
    }
    path_.clear();
    const int error = file_->error() != 0 ? file_->error() : ENOLCK;
    fail_file(target_.string(), "cannot create a file in its folder: ", system_message(error));
  }

  void check(bool good, const char* what) const {
    if (!good) fail_file(target_.string(), what, ": ", system_message(errno));
  }

  std::filesystem::path target_;
  std::filesystem::path path_;  // empty when there is nothing to remove
  std::optional<detail::LockedFile> file_;
};

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
  const TemporaryFile file(path);
}

void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts) {
  const ProfileScope scope("write file");
  check_target(path);
  remove_stale_files(folder_of(path));
  TemporaryFile file(path);
  for (const auto& part : parts) file.write(part);
  file.take_the_place();
}

}  // namespace tessera
