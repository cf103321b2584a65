
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/elements.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/npy.h"

namespace tessera {

namespace {

constexpr std::uint64_t kFull16 = 0xffff;  // "see the zip64 record"
constexpr std::uint64_t kFull32 = 0xffffffff;

/// Bytes of the archive and their position in it.
class Record {
 public:
  Record(const InputFile& file, std::uint64_t offset, std::uint64_t size, const char* what)
      : offset_(offset) {
    const auto end = static_cast<std::uint64_t>(file.size());
    if (offset > end || size > end - offset) {
      fail_file(file.name(), "byte ", offset, ": must be ", what, ", got the end of the file");
    }
    bytes_.resize(size);
    file.read(static_cast<index_t>(offset), bytes_.data(), static_cast<index_t>(size));
  }

  std::size_t size() const { return bytes_.size(); }
  std::uint64_t offset() const { return offset_; }
  /// The number of `width` bytes at `at`.
  std::uint64_t number(std::size_t at, std::size_t width) const {
    return little_endian(std::span(bytes_).subspan(at, width));
  }
  std::string text(std::size_t at, std::size_t length) const {
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(at),
            bytes_.begin() + static_cast<std::ptrdiff_t>(at + length)};
  }

 private:
  std::uint64_t offset_;
  std::vector<unsigned char> bytes_;
};

/// The position of the list of entries.
struct Directory {
  std::uint64_t offset, size, entries;
};

struct Entry {
  std::string name;
  std::uint64_t flags, method, checksum, stored_size, size, offset;
};

constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kLocalSize = 30;

/// The position of the record that ends every archive; a comment may follow it.
std::uint64_t find_end(const InputFile& file) {
  const auto size = static_cast<std::uint64_t>(file.size());
  if (size >= kEndSize) {
    const std::uint64_t tail_size = std::min<std::uint64_t>(size, kEndSize + kFull16);
    const Record tail(file, size - tail_size, tail_size, "the end record");
    for (std::size_t at = tail.size() - kEndSize + 1; at-- > 0;) {
      const bool found = tail.number(at, 4) == 0x06054b50;
      if (found && tail.number(at + 20, 2) == tail.size() - at - kEndSize)
        return tail.offset() + at;
    }
  }
  fail_file(file.name(), "must be a .npz file, got a file that is truncated or not a zip archive");
}

Directory read_directory(const InputFile& file) {
  const std::uint64_t end = find_end(file);
  const Record record(file, end, kEndSize, "the end record");
  Directory found{record.number(16, 4), record.number(12, 4), record.number(10, 2)};
  std::uint64_t limit = end;
  if (record.number(4, 2) != record.number(6, 2) || record.number(8, 2) != found.entries) {
    fail_file(file.name(), "byte ", end, ": archive must be one file, got several");
  }
  if (found.offset == kFull32 || found.size == kFull32 || found.entries == kFull16) {
    const std::uint64_t at = end - std::min<std::uint64_t>(end, kLocatorSize);
    const Record locator(file, at, kLocatorSize, "the zip64 locator");
    limit = locator.number(8, 8);
    const Record end64(file, limit, kEnd64Size, "the zip64 end record");
    if (locator.number(0, 4) != 0x07064b50 || end64.number(0, 4) != 0x06064b50) {
      fail_file(file.name(), "byte ", at, ": must have a zip64 end record");
    }
    found = {end64.number(48, 8), end64.number(40, 8), end64.number(32, 8)};
  }
  if (found.offset > limit || found.size > limit - found.offset ||
      found.entries > found.size / kEntrySize) {
    fail_file(file.name(), "byte ", end, ": list of entries must fit into the file");
  }
  return found;
}

/// Replaces the sizes of an entry that did not fit into 32 bits by those of its zip64 field.
void widen(Entry& entry, const Record& record, std::size_t extra, std::size_t extra_end,
           const std::string& file) {
  std::vector<std::uint64_t*> wanted;
  for (std::uint64_t* field : {&entry.size, &entry.stored_size, &entry.offset}) {
    if (*field == kFull32) wanted.push_back(field);
  }
  if (wanted.empty()) return;
  while (extra_end - extra >= 4) {
    const std::uint64_t id = record.number(extra, 2);
    const std::uint64_t length = record.number(extra + 2, 2);
    extra += 4;
    if (length > extra_end - extra) break;
    if (id == 1 && length >= 8 * wanted.size()) {
      for (std::uint64_t* field : wanted) {
        *field = record.number(extra, 8);
        extra += 8;
      }
      return;
    }
    extra += length;
  }
  fail_file(file, "entry ", printable(entry.name), ": must have zip64 sizes");
}

/// The list of entries, read one after the other: all of them at once could take several times the
/// file's size.
class EntryList {
 public:
  EntryList(const InputFile& file, const Directory& directory)
      : file_(file),
        directory_(directory),
        record_(file, directory.offset, directory.size, "the list of entries") {}

  std::optional<Entry> next() {
    if (read_ == directory_.entries) return std::nullopt;
    const std::uint64_t place = directory_.offset + at_;
    if (record_.size() - at_ < kEntrySize || record_.number(at_, 4) != 0x02014b50) {
      fail_file(file_.name(), "byte ", place, ": must be entry ", read_, " of ",
                directory_.entries);
    }
    const std::uint64_t name = record_.number(at_ + 28, 2);
    const std::uint64_t extra = record_.number(at_ + 30, 2);
    const std::uint64_t comment = record_.number(at_ + 32, 2);
    const std::size_t end = at_ + kEntrySize + name + extra + comment;
    if (end > record_.size()) {
      fail_file(file_.name(), "byte ", place, ": entry ", read_,
                " must end within the list of entries");
    }
    Entry entry{record_.text(at_ + kEntrySize, name), record_.number(at_ + 8, 2),
                record_.number(at_ + 10, 2),          record_.number(at_ + 16, 4),
                record_.number(at_ + 20, 4),          record_.number(at_ + 24, 4),
                record_.number(at_ + 42, 4)};
    widen(entry, record_, end - comment - extra, end - comment, file_.name());
    at_ = end;
    ++read_;
    return entry;
  }

 private:
  const InputFile& file_;
  const Directory directory_;
  const Record record_;
  std::size_t at_ = 0;
  std::uint64_t read_ = 0;
};

constexpr std::array<std::uint32_t, 256> kChecksumTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) {
      table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0xedb88320 : 0);
    }
  }
  return table;
}();

/// CRC-32 of the whole region.
std::uint32_t checksum(const FileRegion& region) {
  constexpr index_t kChunk = index_t{1} << 16;
  std::vector<unsigned char> bytes(static_cast<std::size_t>(std::min(kChunk, region.size)));
  std::uint32_t sum = 0xffffffff;
  for (index_t done = 0; done < region.size;) {
    const index_t n = std::min<index_t>(std::ssize(bytes), region.size - done);
    region.read(done, bytes.data(), n);
    for (index_t i = 0; i < n; ++i) {
      sum = sum >> 8 ^ kChecksumTable[(sum ^ bytes[static_cast<std::size_t>(i)]) & 255];
    }
    done += n;
  }
  return ~sum;
}

/// The bytes of an entry, after every check that needs no reading of a .npy.
FileRegion locate(const InputFile& file, const Entry& entry, std::uint64_t limit) {
  const std::string label = str_cat(file.name(), ": entry ", printable(entry.name));
  if ((entry.flags & 1) != 0) fail_file(label, "must not be encrypted");
  if (entry.method != 0) {
    fail_file(label, "must not be compressed; save with numpy.savez, not numpy.savez_compressed");
  }
  if (entry.stored_size != entry.size)
    fail_file(label, "both sizes must be equal, got ", entry.stored_size, " and ", entry.size);
  const Record local(file, entry.offset, kLocalSize, "an entry's header");
  const std::uint64_t name = local.number(26, 2);
  const Record named(file, entry.offset, kLocalSize + name, "an entry's header");
  if (local.number(0, 4) != 0x04034b50 || named.text(kLocalSize, name) != entry.name) {
    fail_file(label, "byte ", entry.offset, ": must be the entry's header");
  }
  const std::uint64_t begin = entry.offset + kLocalSize + name + local.number(28, 2);
  if (begin > limit || entry.size > limit - begin) {
    fail_file(label, "must fit into the file, got ", entry.size, " bytes");
  }
  FileRegion region(file, static_cast<index_t>(begin), static_cast<index_t>(entry.size), label);
  if (checksum(region) != entry.checksum)
    fail_file(label, "data must have the stored checksum, got damaged data");
  return region;
}

}  // namespace

std::map<std::string, Tensor> load_npz(const std::filesystem::path& path) {
  const InputFile file(path);
  refuse_incomplete_download(file);
  const Directory directory = read_directory(file);
  constexpr std::string_view kSuffix = ".npy";
  std::map<std::string, Tensor> arrays;
  std::uint64_t left = directory.offset;  // bytes that entries may claim: they must not overlap
  EntryList entries(file, directory);
  while (const std::optional<Entry> next = entries.next()) {
    const Entry& entry = *next;
    const std::string label = str_cat(file.name(), ": entry ", printable(entry.name));
    if (!entry.name.ends_with(kSuffix)) fail_file(label, "name must end in .npy");
    if (entry.stored_size > left)
      fail_file(label, "entries together must not be larger than the file");
    left -= entry.stored_size;
    const std::string name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    if (arrays.contains(name)) fail_file(label, "names must be different, got this one twice");
    arrays.emplace(name, read_npy(locate(file, entry, directory.offset)));
  }
  return arrays;
}

}  // namespace tessera
