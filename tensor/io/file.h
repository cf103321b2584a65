// Files as the loaders and savers of this library use them: read by position and checked, written
// whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tensor/error.h"
#include "tensor/kernels/types.h"

namespace tessera {

/// A regular file, open for reading, whose size was taken once.
/// **Errors**: everything throws std::runtime_error with the file's name.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// The path, for errors, and the size in bytes.
  const std::string& name() const { return name_; }
  index_t size() const { return size_; }
  /// Reads `bytes` bytes from `offset` on. **Errors**: they are not all there.
  void read(index_t offset, void* to, index_t bytes) const;
  /// `bytes` bytes from `offset` on as memory that may be written to, without a copy: a page is read
  /// when it is first touched and copied when it is written to, so the file never changes. Null where
  /// the system cannot map them; then they can still be read.
  ///
  /// Another file that takes this one's name, as by write_file, changes nothing. A write into
  /// this file itself changes the pages that were not written to here; a process that shortens it
  /// makes the access to what is gone end the process, by SIGBUS.
  std::shared_ptr<std::byte> map(index_t offset, index_t bytes) const;

 private:
  std::string name_;
  int descriptor_ = -1;
  index_t size_ = 0;
};

/// A part of a file that is read as if it were a file of its own, and how errors name it.
struct FileRegion {
  FileRegion(const InputFile& whole) : file(whole), size(whole.size()), name(whole.name()) {}
  FileRegion(const InputFile& f, index_t first, index_t bytes, std::string label)
      : file(f), begin(first), size(bytes), name(std::move(label)) {}

  /// As InputFile::read, from the start of the part.
  void read(index_t offset, void* to, index_t bytes) const;

  const InputFile& file;
  index_t begin = 0;
  index_t size;
  std::string name;
};

/// Throws if `file` is what a download often leaves in place of a file of data: a Git LFS pointer or
/// an HTML page. **Errors**: std::runtime_error with the file's name and the cure.
void refuse_stand_in(const InputFile& file);

/// Writes `parts`, one after the other, as the file `path`: under another name in the same folder
/// first, which takes the file's place when all is on disk. Whatever goes wrong, and if the process
/// is killed at any moment, `path` holds the old contents or the new ones. What a killed writer
/// left behind (`.tessera-*.tmp`) goes with the next file written to that folder; writers that are
/// still at work, in this process or another, lose nothing.
/// **Errors**: std::runtime_error with the file's name; what is there is a device or a pipe.
void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> parts);
inline void write_file(const std::filesystem::path& path,
                       std::initializer_list<std::span<const std::byte>> parts) {
  write_file(path, std::span(parts.begin(), parts.size()));
}
/// The same for a file of text.
inline void write_text(const std::filesystem::path& path, std::string_view text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

/// Throws the errors that write_file has before it writes: makes its temporary file and removes the file
/// again. For programs that write after long work. Also an error: `path` is a folder.
void check_writable(const std::filesystem::path& path);

}  // namespace tessera
