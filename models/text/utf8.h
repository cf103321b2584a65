// UTF-8: checks texts, and divides them into code points.
// **Source**: The Unicode Standard, table 3-7.
#pragma once

#include <cstddef>
#include <string_view>

#include "tessera/tensor/kernels/types.h"

namespace tessera::text {

/// The mark that some programs write before a UTF-8 text; not part of the text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Whether a byte of UTF-8 is not the first of its code point.
inline bool continues_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}
inline bool continues_code_point(std::string_view text, index_t at) {
  return continues_code_point(text[static_cast<std::size_t>(at)]);
}

/// The number of code points of a text that is UTF-8.
index_t code_point_count(std::string_view text);

/// The position of the first error in the UTF-8 of `text`: no valid code point begins there. npos:
/// no error.
std::size_t find_invalid_utf8(std::string_view text);

/// Throws if `text` is not UTF-8. **Errors**: std::invalid_argument with the position of the byte
/// and, if it is at least 0, the number of the text.
void check_utf8(std::string_view text, const char* op, index_t number = -1);

}  // namespace tessera::text
