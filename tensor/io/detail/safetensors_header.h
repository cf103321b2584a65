// The header of a .safetensors file, to and from JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/shape.h"

namespace tessera {

/// A tensor's entry in the header; the offsets count from the first byte after the header.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // "F32"
  Shape shape;
  index_t begin = 0;
  index_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

/// The longest header that is read or written; the format's own reader has the same limit.
inline constexpr index_t kMaxSafetensorsHeader = 100'000'000;

/// Reads the JSON: exactly the format's keys, each once, and nothing after it except spaces. Does
/// not check that offsets and shapes agree.
/// **Errors**: std::runtime_error that begins with `file` and names the tensor or the place.
SafetensorsHeader parse_safetensors_header(std::string text, const std::string& file);

/// The JSON: metadata first, then the entries in their order.
/// **Errors**: a name or a text that the parser above would refuse.
std::string format_safetensors_header(const SafetensorsHeader& header);

}  // namespace tessera
