#include "tessera/tensor/error.h"

#include <algorithm>
#include <cstddef>

#include "tessera/tensor/io/detail/utf8.h"

namespace tessera {

namespace {

/// Whether the one code point in `bytes` is a control character: C0, DEL, C1, a line or paragraph
/// separator, or a mark of direction.
bool is_control(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (bytes.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (bytes.size() != 3 || byte(0) != 0xe2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xa8 && byte(2) <= 0xae) ||  // U+2028 to U+202E
         (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);    // U+2066 to U+2069
}

}  // namespace

std::string escaped(std::string_view text, std::size_t most) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = detail::code_point_size(text.substr(at));
    const std::string_view character = text.substr(at, std::max<std::size_t>(size, 1));
    at += character.size();
    if (at > most) return result += "...";
    if (size > 0 && !is_control(character)) {
      result += character;
      continue;
    }
    for (const char c : character) {
      const auto code = static_cast<unsigned char>(c);
      result += {'\\', 'x', kHex[code / 16], kHex[code % 16]};
    }
  }
  return result;
}

std::string printable(std::string_view text) {
  return "'" + escaped(text, 80) + "'";
}

}  // namespace tessera
