#include "tessera/tensor/io/safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/elements.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"

namespace tessera {

namespace {

constexpr const char* kSaveOp = "save_safetensors";
constexpr std::string_view kMetadata = "__metadata__";
constexpr index_t kMaxValues = index_t{1} << 19;  // of 40,000 tensors
constexpr std::size_t kMaxName = 4096;
constexpr std::size_t kMaxDtype = 32;
constexpr index_t kMaxSize = index_t{1} << 48;
constexpr index_t kMaxOffset = index_t{1} << 62;
/// The longest header; the format's own reader has the same limit.
constexpr index_t kMaxSafetensorsHeader = 100'000'000;

/// The entries in the order of the file, and later in that of their bytes.
struct Header {
  std::vector<StoredTensor> entries;
  std::map<std::string, std::string> metadata;
};

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

std::string place(const InputFile& file, const StoredTensor& entry) {
  return str_cat(file.name(), ": tensor ", printable(entry.name));
}

/// The format of a dtype; null if tensors of this dtype cannot be read.
const ElementFormat* find_format(std::string_view dtype) {
  const auto* found = std::ranges::find(kSafetensorsFormats, dtype, &ElementFormat::code);
  return found == kSafetensorsFormats.end() ? nullptr : found;
}

const ElementFormat& format_of(const InputFile& file, const StoredTensor& entry) {
  const ElementFormat* const found = find_format(entry.dtype);
  if (found == nullptr) {
    fail_file(place(file, entry),
              "dtype must be bool, int8 to int64, uint8 to uint32, float16, bfloat16, float32 or "
              "float64, got ",
              printable(entry.dtype));
  }
  return *found;
}

/// The header's text; the data begin after it, at byte 8 + its size.
std::string header_of(const InputFile& file) {
  if (file.size() < 8) {
    fail_file(file.name(), "must be a .safetensors file, got only ", file.size(), " bytes");
  }
  std::array<unsigned char, 8> bytes{};
  file.read(0, bytes.data(), 8);
  return read_header(file, 0, little_endian(bytes), 8, kMaxSafetensorsHeader);
}

/// The numbers in the list under `key` of `entry`.
std::vector<index_t> numbers_of(const Json& entry, std::string_view key, index_t largest) {
  std::vector<index_t> numbers;
  for (const Json& number : entry.at(key).as_list().items())
    numbers.push_back(number.integer(JsonRange{0, largest}));
  return numbers;
}

StoredTensor entry_of(const Json& json) {
  for (const Json& value : json.as_object().items()) {
    const bool known =
        value.key() == "dtype" || value.key() == "shape" || value.key() == "data_offsets";
    if (!known) value.fail("key must be dtype, shape or data_offsets");
  }
  StoredTensor entry{.name = std::string(json.key()), .dtype = json.text("dtype"), .shape = {}};
  if (entry.dtype.size() > kMaxDtype) {
    json.at("dtype").fail("must have at most ", kMaxDtype, " bytes, got ", entry.dtype.size());
  }
  const std::vector<index_t> sizes = numbers_of(json, "shape", kMaxSize);
  if (std::ssize(sizes) > kMaxRank) {
    json.at("shape").fail("must have at most ", kMaxRank, " axes, got ", sizes.size());
  }
  entry.shape = Shape(sizes);
  const std::vector<index_t> offsets = numbers_of(json, "data_offsets", kMaxOffset);
  if (offsets.size() != 2) {
    json.at("data_offsets").fail("must have 2 offsets, got ", offsets.size());
  }
  entry.begin = offsets[0];
  entry.bytes = offsets[1] - offsets[0];
  return entry;
}

/// The JSON has exactly the format's keys, each once. check_layout checks offsets and shapes.
Header parse_header(const std::string& text, const std::string& file) {
  if (!text.starts_with('{')) fail_file(file, "byte 8: header must begin with '{'");
  const Json json = parse_json(text, file + ": header", {.depth = 3, .values = kMaxValues});
  Header header;
  for (const Json& value : json.items()) {
    if (value.key().size() > kMaxName) {
      value.fail("name must have at most ", kMaxName, " bytes, got ", value.key().size());
    }
    if (value.key() != kMetadata) {
      header.entries.push_back(entry_of(value));
      continue;
    }
    for (const Json& item : value.as_object().items()) {
      header.metadata.emplace(item.key(), item.text());
    }
  }
  return header;
}

/// Checks that each tensor has the bytes that its shape needs, if its dtype can be read, and that
/// together they cover all data.
void check_layout(const InputFile& file, std::vector<StoredTensor>& entries, index_t data_size) {
  for (const StoredTensor& entry : entries) {
    const ElementFormat* const format = find_format(entry.dtype);
    const index_t bytes = stored_bytes(entry.shape, format ? format->size : 1, place(file, entry));
    const index_t wanted = format ? bytes : std::max<index_t>(entry.bytes, 0);
    if (entry.bytes != wanted || entry.begin > data_size - wanted) {
      fail_file(place(file, entry), "offsets must lie in the data's ", data_size,
                " bytes and have the ", wanted, " bytes of shape ", entry.shape, " of ",
                format ? std::string(format->name) : printable(entry.dtype), ", got ", entry.begin,
                " to ", entry.begin + entry.bytes);
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.bytes) < std::tie(b.begin, b.bytes);
  });
  index_t end = 0;
  for (const StoredTensor& entry : entries) {
    if (entry.begin != end) {
      fail_file(place(file, entry), "must begin at byte ", end,
                " of the data, where the tensor before it ends, got ", entry.begin);
    }
    end = entry.begin + entry.bytes;
  }
  if (end != data_size) {
    fail_file(file.name(), "tensors must end with the data at byte ", data_size, ", got ", end);
  }
}

}  // namespace

/// An open file, its checked header, and the offset of the data.
struct SafetensorsFile::Opened {
  InputFile file;
  Header header;
  index_t data = 0;
  std::map<std::string, Shape> shapes = {};
  std::map<std::string, const StoredTensor*> entries = {};

  explicit Opened(const std::filesystem::path& path) : file(path) {
    refuse_incomplete_download(file);
    const std::string text = header_of(file);
    data = 8 + std::ssize(text);
    header = parse_header(text, file.name());
    check_layout(file, header.entries, file.size() - data);
    for (const StoredTensor& entry : header.entries) {
      shapes.emplace(entry.name, entry.shape);
      entries.emplace(entry.name, &entry);
    }
  }

  const StoredTensor& entry(const std::string& name) const {
    const auto found = entries.find(name);
    if (found == entries.end()) fail_file(file.name(), "must have a tensor ", printable(name));
    return *found->second;
  }

  Tensor read(const StoredTensor& entry) const {
    const ElementFormat& format = format_of(file, entry);
    if (can_map(entry, format)) {
      if (auto memory = file.map(data + entry.begin, entry.bytes)) {
        return Tensor::of_storage(Storage::borrow(std::move(memory), entry.bytes), entry.shape,
                                  format.dtype);
      }
    }
    Tensor tensor = Tensor::empty(entry.shape, format.dtype);
    format.read(file, data + entry.begin, !kLittleEndian, tensor);
    return tensor;
  }

  /// Each tensor has its own mapping, which ends with the tensor. Small tensors are cheaper to
  /// copy, and one file should not use up the mappings that a process may have, 65,530.
  bool can_map(const StoredTensor& entry, const ElementFormat& format) const {
    const index_t least = std::max(kLeastMapped, file.size() / kMostMapped);
    return kLittleEndian && format.is_as_in_memory && (data + entry.begin) % format.size == 0 &&
           entry.bytes >= least;
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

const std::vector<StoredTensor>& SafetensorsFile::stored() const {
  return opened_->header.entries;
}

std::string SafetensorsFile::dtype(const std::string& name) const {
  return std::string(format_of(opened_->file, opened_->entry(name)).name);
}

bool SafetensorsFile::can_read(const std::string& name) const {
  return find_format(opened_->entry(name).dtype) != nullptr;
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

namespace {

/// The values that parse_json will count in the header, including keys.
index_t count_values(const Header& header) {
  index_t values = 3 + 2 * static_cast<index_t>(header.metadata.size());
  for (const StoredTensor& entry : header.entries) values += 10 + entry.shape.size();
  return values;
}

void check_name(const std::string& name) {
  require(!name.empty() && name.size() <= kMaxName, kSaveOp, "name must have 1 to ", kMaxName,
          " bytes, got ", name.size(), " in ", printable(name));
  JsonText(name, kSaveOp);  // checks that the name is UTF-8
}

JsonText checked_text(const std::string& key, const std::string& value) {
  check_name(key);
  return JsonText(value, kSaveOp);
}

/// The JSON: metadata first, then the entries in their order.
std::string format_header(const Header& header) {
  require(count_values(header) <= kMaxValues, kSaveOp,
          "number of values in the header must be at most ", kMaxValues, ", got ",
          header.entries.size(), " tensors and ", header.metadata.size(), " texts");
  JsonObject object;
  if (!header.metadata.empty()) {
    JsonObject texts;
    for (const auto& [key, value] : header.metadata) {
      texts.add(key, checked_text(key, value));
    }
    object.add(kMetadata, texts);
  }
  for (const StoredTensor& entry : header.entries) {
    check_name(entry.name);
    require(entry.name != kMetadata, kSaveOp, "name of a tensor must not be ", kMetadata);
    object.add(
        entry.name,
        JsonObject({{"dtype", entry.dtype},
                    {"shape", json_list(entry.shape)},
                    {"data_offsets", JsonList().add(entry.begin).add(entry.begin + entry.bytes)}}));
  }
  return object.text();
}

}  // namespace

void check_safetensors_text(const std::string& key, const std::string& text) {
  checked_text(key, text);
}

void save_safetensors(const std::filesystem::path& path,
                      const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  require(kLittleEndian, kSaveOp, "processor must be little-endian");
  Header header{{}, metadata};
  header.metadata.emplace("format", "pt");
  std::vector<Tensor> sources;
  std::vector<std::span<const std::byte>> parts(2);
  index_t end = 0;
  for (const ElementFormat& format : kSafetensorsFormats) {
    for (const auto& [name, tensor] : tensors) {
      require(tensor.defined(), kSaveOp, "tensor ", printable(name),
              " must be defined, got an undefined one");
      if (&format_of(kSafetensorsFormats, tensor.dtype()) != &format) continue;
      sources.push_back(tensor.detach().contiguous());
      const index_t bytes = tensor.count() * format.size;
      parts.emplace_back(static_cast<const std::byte*>(sources.back().untyped_data()),
                         static_cast<std::size_t>(bytes));
      header.entries.push_back({name, std::string(format.code), tensor.shape(), bytes, end});
      end += bytes;
    }
  }
  std::string text = format_header(header);
  text.append((kDataAlignment - (8 + text.size()) % kDataAlignment) % kDataAlignment, ' ');
  require(std::ssize(text) <= kMaxSafetensorsHeader, kSaveOp, "header must have at most ",
          kMaxSafetensorsHeader, " bytes, got ", text.size());
  const auto length = static_cast<std::uint64_t>(text.size());
  parts[0] = std::as_bytes(std::span(&length, 1));
  parts[1] = std::as_bytes(std::span(text));
  write_file(path, parts);
}

}  // namespace tessera
