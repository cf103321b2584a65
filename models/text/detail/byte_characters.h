// Bytes as visible characters, which byte-level vocabularies use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tessera::text {

/// The character, as UTF-8, that represents a byte: the byte itself for '!' to '~', U+00A1 to
/// U+00AC and U+00AE to U+00FF; for the other bytes, in their order, U+0100, U+0101, ...
/// **Source**: the encoder of GPT-2, bytes_to_unicode.
std::string_view character_of_byte(unsigned char byte);

/// The bytes that the characters of `text` represent; nullopt if one of them represents no byte.
std::optional<std::string> bytes_of_characters(std::string_view text);

}  // namespace tessera::text
