#include "models/text/detail/byte_characters.h"

#include <array>
#include <cstddef>

namespace tessera::text {

namespace {

constexpr unsigned kCharacters = 0x144;  // the last one is U+0143

constexpr bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
}

/// Each byte's character, and each character's byte, or -1.
struct Tables {
  std::array<std::array<char, 2>, 256> characters{};
  std::array<std::size_t, 256> sizes{};
  std::array<int, kCharacters> bytes{};

  constexpr Tables() {
    bytes.fill(-1);
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const unsigned code = is_itself(byte) ? byte : next++;
      bytes[code] = static_cast<int>(byte);
      sizes[byte] = code < 0x80 ? 1 : 2;
      characters[byte] = {static_cast<char>(code < 0x80 ? code : 0xc0 | (code >> 6)),
                          static_cast<char>(code < 0x80 ? 0 : 0x80 | (code & 0x3f))};
    }
  }
};
constexpr Tables kTables;

}  // namespace

std::string_view character_of_byte(unsigned char byte) {
  return {kTables.characters[byte].data(), kTables.sizes[byte]};
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (code >= 0xe0) return std::nullopt;
    if (code >= 0x80) {
      if (++i == text.size()) return std::nullopt;
      code = ((code & 0x1f) << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    if (code >= kCharacters || kTables.bytes[code] < 0) return std::nullopt;
    bytes += static_cast<char>(kTables.bytes[code]);
  }
  return bytes;
}

}  // namespace tessera::text
