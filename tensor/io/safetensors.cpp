#include "tensor/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/io/detail/elements.h"
#include "tensor/io/detail/safetensors_header.h"
#include "tensor/io/file.h"

namespace tessera {

namespace {

/// In the reverse order of the format's own enumeration. Tensors are written in this order, which
/// keeps each aligned to its elements. Types that no tensor has are never written.
constexpr std::array kSafetensorsFormats = {
    element_format<index_t, index_t>("I64", "int64"),
    element_format<double, double>("F64", "float64"),
    element_format<float, float>("F32", "float32"),
    element_format<std::uint32_t, index_t>("U32", "uint32"),
    element_format<std::int32_t, index_t>("I32", "int32"),
    element_format<BFloat16, float>("BF16", "bfloat16"),
    element_format<Half, float>("F16", "float16"),
    element_format<std::uint16_t, index_t>("U16", "uint16"),
    element_format<std::int16_t, index_t>("I16", "int16"),
    element_format<std::int8_t, index_t>("I8", "int8"),
    element_format<std::uint8_t, index_t>("U8", "uint8"),
    element_format<BoolByte, bool>("BOOL", "bool"),
};

constexpr index_t kLeastMapped = index_t{64} << 10;
constexpr index_t kMostMapped = 8192;

/// The alignment of the elements in written files: a cache line.
constexpr std::size_t kDataAlignment = 64;

std::string place(const InputFile& file, const SafetensorsEntry& entry) {
  return str_cat(file.name(), ": tensor ", printable(entry.name));
}

const ElementFormat& format_of(const InputFile& file, const SafetensorsEntry& entry) {
  const auto* found =
      std::find_if(kSafetensorsFormats.begin(), kSafetensorsFormats.end(),
                   [&](const auto& candidate) { return candidate.code == entry.dtype; });
  if (found == kSafetensorsFormats.end()) {
    fail_file(place(file, entry),
              "dtype must be bool, int8 to int64, uint8 to uint32, float16, bfloat16, float32 or "
              "float64, got ",
              printable(entry.dtype));
  }
  return *found;
}

/// The row-major, little-endian format of a dtype.
const ElementFormat& format_of(DType dtype) {
  return *std::find_if(kSafetensorsFormats.begin(), kSafetensorsFormats.end(),
                       [&](const auto& candidate) {
                         return candidate.dtype == dtype && candidate.size == item_size(dtype);
                       });
}

/// The header's text; the data begin after it, at byte 8 + its size.
std::string read_header(const InputFile& file) {
  if (file.size() < 8) {
    fail_file(file.name(), "must be a .safetensors file, got only ", file.size(), " bytes");
  }
  std::array<unsigned char, 8> bytes{};
  file.read(0, bytes.data(), 8);
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | bytes[i];
  if (length > static_cast<std::uint64_t>(kMaxSafetensorsHeader)) {
    fail_file(file.name(), "byte 0: header must have at most ", kMaxSafetensorsHeader,
              " bytes, got ", length);
  }
  if (static_cast<index_t>(length) > file.size() - 8) {
    fail_file(file.name(), "byte 0: header must fit the remaining ", file.size() - 8,
              " bytes, got ", length);
  }
  std::string text(length, '\0');
  file.read(8, text.data(), static_cast<index_t>(length));
  return text;
}

/// Checks that each tensor has the bytes that its shape needs, and that together they cover all
/// data.
void check_layout(const InputFile& file, std::vector<SafetensorsEntry>& entries,
                  index_t data_size) {
  for (const SafetensorsEntry& entry : entries) {
    const index_t wanted =
        stored_bytes(entry.shape, format_of(file, entry).size, place(file, entry));
    if (entry.begin > entry.end || entry.end > data_size || entry.end - entry.begin != wanted) {
      fail_file(place(file, entry), "offsets must lie in the data's ", data_size,
                " bytes and have the ", wanted, " bytes of shape ", entry.shape, " of ",
                format_of(file, entry).name, ", got ", entry.begin, " to ", entry.end);
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  index_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != end) {
      fail_file(place(file, entry), "must begin at byte ", end,
                " of the data, where the tensor before it ends, got ", entry.begin);
    }
    end = entry.end;
  }
  if (end != data_size) {
    fail_file(file.name(), "tensors must end with the data at byte ", data_size, ", got ", end);
  }
}

}  // namespace

/// An open file, its checked header, and the offset of the data.
struct SafetensorsFile::Opened {
  InputFile file;
  SafetensorsHeader header;
  index_t data = 0;
  std::map<std::string, Shape> shapes = {};
  std::map<std::string, const SafetensorsEntry*> entries = {};

  explicit Opened(const std::filesystem::path& path) : file(path) {
    refuse_incomplete_download(file);
    std::string text = read_header(file);
    data = 8 + std::ssize(text);
    header = parse_safetensors_header(std::move(text), file.name());
    check_layout(file, header.entries, file.size() - data);
    for (const SafetensorsEntry& entry : header.entries) {
      shapes.emplace(entry.name, entry.shape);
      entries.emplace(entry.name, &entry);
    }
  }

  const SafetensorsEntry& entry(const std::string& name) const {
    const auto found = entries.find(name);
    if (found == entries.end()) fail_file(file.name(), "must have a tensor ", printable(name));
    return *found->second;
  }

  Tensor read(const SafetensorsEntry& entry) const {
    const ElementFormat& format = format_of(file, entry);
    if (can_map(entry, format)) {
      const index_t bytes = entry.end - entry.begin;
      if (auto memory = file.map(data + entry.begin, bytes)) {
        return Tensor::of_storage(Storage::borrow(std::move(memory), bytes), entry.shape,
                                  format.dtype);
      }
    }
    Tensor tensor = Tensor::empty(entry.shape, format.dtype);
    format.read(file, data + entry.begin, !kLittleEndian, tensor);
    return tensor;
  }

  /// Each tensor has its own mapping, which ends with the tensor. Small tensors are cheaper to
  /// copy, and one file should not use up the mappings that a process may have, 65,530.
  bool can_map(const SafetensorsEntry& entry, const ElementFormat& format) const {
    const index_t least = std::max(kLeastMapped, file.size() / kMostMapped);
    return kLittleEndian && format.is_as_in_memory && (data + entry.begin) % format.size == 0 &&
           entry.end - entry.begin >= least;
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : opened_(std::make_shared<const Opened>(path)) {}

const std::string& SafetensorsFile::name() const {
  return opened_->file.name();
}

const std::map<std::string, Shape>& SafetensorsFile::shapes() const {
  return opened_->shapes;
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return opened_->header.metadata;
}

std::vector<StoredTensor> SafetensorsFile::stored() const {
  std::vector<StoredTensor> stored;
  for (const SafetensorsEntry& entry : opened_->header.entries) {
    stored.push_back({entry.name, entry.dtype, entry.shape, entry.end - entry.begin});
  }
  return stored;
}

std::string SafetensorsFile::dtype(const std::string& name) const {
  return std::string(format_of(opened_->file, opened_->entry(name)).name);
}

Tensor SafetensorsFile::read(const std::string& name) const {
  return opened_->read(opened_->entry(name));
}

Safetensors load_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Safetensors result{{}, file.metadata()};
  for (const auto& [name, shape] : file.shapes()) result.tensors.emplace(name, file.read(name));
  return result;
}

void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  require(kLittleEndian, "save_safetensors", "processor must be little-endian");
  SafetensorsHeader header{{}, metadata};
  header.metadata.emplace("format", "pt");
  std::vector<Tensor> sources;
  std::vector<std::span<const std::byte>> parts(2);
  index_t end = 0;
  for (const ElementFormat& format : kSafetensorsFormats) {
    for (const auto& [name, tensor] : tensors) {
      require(tensor.defined(), "save_safetensors", "tensor ", printable(name),
              " must be defined, got an undefined one");
      if (&format_of(tensor.dtype()) != &format) continue;
      sources.push_back(tensor.detach().contiguous());
      const index_t bytes = tensor.count() * format.size;
      parts.emplace_back(static_cast<const std::byte*>(sources.back().untyped_data()),
                         static_cast<std::size_t>(bytes));
      header.entries.push_back({name, std::string(format.code), tensor.shape(), end, end + bytes});
      end += bytes;
    }
  }
  std::string text = format_safetensors_header(header);
  text.append((kDataAlignment - (8 + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  require(std::ssize(text) <= kMaxSafetensorsHeader, "save_safetensors",
          "header must have at most ", kMaxSafetensorsHeader, " bytes, got ", text.size());
  const auto length = static_cast<std::uint64_t>(text.size());
  parts[0] = std::as_bytes(std::span(&length, 1));
  parts[1] = std::as_bytes(std::span(text));
  write_file(path, parts);
}

}  // namespace tessera
