#include "tensor/io/detail/safetensors_header.h"

#include <utility>
#include <vector>

#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/io/safetensors.h"

namespace tessera {

namespace {

constexpr const char* kSaveOp = "save_safetensors";
constexpr std::string_view kMetadata = "__metadata__";
constexpr index_t kMaxValues = index_t{1} << 19;  // of 40,000 tensors
constexpr std::size_t kMaxName = 4096;
constexpr index_t kMaxSize = index_t{1} << 48;
constexpr index_t kMaxOffset = index_t{1} << 62;

/// The numbers in the list under `key` of `entry`.
std::vector<index_t> numbers_of(const Json& entry, std::string_view key, index_t largest) {
  std::vector<index_t> numbers;
  for (const Json& number : entry.at(key).as_list().items())
    numbers.push_back(number.integer(JsonRange{0, largest}));
  return numbers;
}

SafetensorsEntry entry_of(const Json& json) {
  for (const Json& value : json.as_object().items()) {
    const bool known =
        value.key() == "dtype" || value.key() == "shape" || value.key() == "data_offsets";
    if (!known) value.fail("key must be dtype, shape or data_offsets");
  }
  SafetensorsEntry entry{.name = std::string(json.key()), .dtype = json.text("dtype"), .shape = {}};
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
  entry.end = offsets[1];
  return entry;
}

/// The values that parse_json will count in the header, including keys.
index_t count_values(const SafetensorsHeader& header) {
  index_t values = 3 + 2 * static_cast<index_t>(header.metadata.size());
  for (const SafetensorsEntry& entry : header.entries) values += 10 + entry.shape.size();
  return values;
}

void check_name(const std::string& name) {
  require(!name.empty() && name.size() <= kMaxName, kSaveOp, "name must have 1 to ", kMaxName,
          " bytes, got ", name.size(), " in ", printable(name));
  JsonText(name, kSaveOp);  // checks that the name is UTF-8
}

JsonText checked_text(const std::string& key, const std::string& value) {
  check_name(key);
  JsonText text(value, kSaveOp);
  const index_t bytes = std::ssize(text.text()) - 2;  // without quotes
  require(bytes <= kMaxJsonText, kSaveOp, "text ", printable(key), " must have at most ",
          kMaxJsonText, " bytes with escapes, got ", bytes);
  return text;
}

}  // namespace

void check_safetensors_text(const std::string& key, const std::string& text) {
  checked_text(key, text);
}

SafetensorsHeader parse_safetensors_header(std::string text, const std::string& file) {
  if (!text.starts_with('{')) fail_file(file, "byte 8: header must begin with '{'");
  const Json json =
      parse_json(std::move(text), file + ": header", {.depth = 3, .values = kMaxValues});
  SafetensorsHeader header;
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

std::string format_safetensors_header(const SafetensorsHeader& header) {
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
  for (const SafetensorsEntry& entry : header.entries) {
    check_name(entry.name);
    require(entry.name != kMetadata, kSaveOp, "name of a tensor must not be ", kMetadata);
    object.add(entry.name,
               JsonObject({{"dtype", entry.dtype},
                           {"shape", json_list(entry.shape)},
                           {"data_offsets", JsonList().add(entry.begin).add(entry.end)}}));
  }
  return object.text();
}

}  // namespace tessera
