// Files of loaders and savers: read by position with checks, written completely or not at all, and
// locked.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/types.h"

namespace tessera::detail {
class LockedFile;
}

namespace tessera {

/// A regular file, open for reading. The size is determined once, by the constructor.
/// **Errors**: std::runtime_error with the file's name: no such file, or not a regular file; the
/// file cannot be read.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// The path, for errors.
  const std::string& name() const { return name_; }
  /// The size in bytes.
  index_t size() const { return size_; }
  /// Reads `bytes` bytes from `offset` on. **Errors**: the file ends before offset + bytes.
  void read(index_t offset, void* to, index_t bytes) const;
  /// `bytes` bytes from `offset` on as memory that may be written to, without a copy: a page is
  /// read when it is first accessed and copied when it is written to, so the file never changes.
  /// Null if the file is too short, or if the system cannot map these bytes; then use read.
  ///
  /// If a new file replaces this one under the same name, as write_file does, the memory does not
  /// change. A write into this file itself changes the pages that this process has not written to;
  /// if a process shortens the file, access to the missing part ends the process with SIGBUS.
  std::shared_ptr<std::byte> map(index_t offset, index_t bytes) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  index_t size_ = 0;
};

/// A part of a file that is read like a whole file, and its name in errors.
struct FileRegion {
  FileRegion(const InputFile& whole) : file(whole), size(whole.size()), name(whole.name()) {}
  FileRegion(const InputFile& f, index_t first, index_t bytes, std::string label)
      : file(f), begin(first), size(bytes), name(std::move(label)) {}

  /// As InputFile::read, from the start of the part. **Errors**: also a read beyond the part.
  void read(index_t offset, void* to, index_t bytes) const;

  const InputFile& file;
  index_t begin = 0;
  index_t size;
  std::string name;
};

/// Throws if `file` is what an incomplete download often leaves instead of the data: a Git LFS
/// pointer or an HTML page. **Errors**: std::runtime_error with the file's name and the cure; as
/// InputFile::read.
/// **Source**: the specification of Git LFS, docs/spec.md, "The Pointer".
void refuse_incomplete_download(const InputFile& file);

/// Writes `parts`, one after the other, as the file `path`: first to a temporary file in the same
/// folder, which replaces `path` when all parts are on disk. After any error, or if the process
/// is killed at any moment, `path` holds either the old contents or the new ones. Files left behind
/// by a killed writer (`.tessera-*.tmp`) are removed by the next write_file or check_writable in
/// that folder; files of active writers, in this process or another, are kept.
/// **Errors**: std::runtime_error with the file's name: `path` is a device, a pipe or a folder; the
/// file cannot be written.
void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts);
inline void write_file(const std::filesystem::path& path,
                       std::initializer_list<std::span<const std::byte>> parts) {
  write_file(path, std::span(parts.begin(), parts.size()));
}
/// As write_file, with `text` as the only part.
inline void write_text(const std::filesystem::path& path, std::string_view text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

/// Throws the errors that write_file would throw before it writes: makes the temporary file of
/// write_file and removes this file again. For programs that write after long work. **Errors**: as
/// write_file.
void check_writable(const std::filesystem::path& path);

/// A lock on a file, which is created for the lock and removed at the end. The lock ends with the
/// process, even if the process is killed; the next lock then reuses the file. On a file system
/// without locks, a FileLock has no effect.
class FileLock {
 public:
  /// **Errors**: std::runtime_error that names `folder`: another process or thread holds the lock;
  /// the file cannot be made.
  FileLock(std::filesystem::path file, const std::string& folder);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::filesystem::path file_;
  std::unique_ptr<detail::LockedFile> lock_;
};

/// Makes a folder, if it does not exist, and locks it by the file `.lock`, for a process that will
/// write `file` there. **Errors**: as FileLock; the folder cannot be made, or `file` cannot be
/// written.
std::shared_ptr<const FileLock> lock_folder(const std::filesystem::path& folder,
                                            const std::string& file);

/// Whether two paths name the same file, or would when it is made. Links are followed, also those
/// whose target does not exist.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);
/// Whether `file` is in `folder` or in a folder in it, or is a link to such a location; neither
/// needs to exist.
bool is_in_folder(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace tessera
