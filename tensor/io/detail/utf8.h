// UTF-8, one code point at a time. Private; models/text/utf8.h checks and counts whole texts.
#pragma once

#include <cstddef>
#include <string_view>

namespace tessera::detail {

/// The number of bytes of the first code point of `text`, 1 to 4; 0 if `text` is empty or does not
/// begin with valid UTF-8: a stray or missing continuation byte, an overlong form, a surrogate, a
/// number above U+10FFFF. **Source**: The Unicode Standard, table 3-7.
inline std::size_t code_point_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return 0;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // The second byte excludes overlong forms, surrogates and numbers above U+10FFFF.
  const unsigned second = byte(1);
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  return second >= low && second <= high ? size : 0;
}

}  // namespace tessera::detail
