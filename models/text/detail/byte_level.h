// Bytes as visible characters, which byte-level vocabularies use, and GPT-2's words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/models/text/detail/steps.h"

namespace tessera::text {

/// The character, as UTF-8, that represents a byte: the byte itself for '!' to '~', U+00A1 to
/// U+00AC and U+00AE to U+00FF; for the other bytes, in their order, U+0100, U+0101, ...
/// **Source**: the encoder of GPT-2, bytes_to_unicode.
std::string_view character_of_byte(unsigned char byte);

/// The bytes that the characters of `text` represent; nullopt if one of them represents no byte.
std::optional<std::string> bytes_of_characters(std::string_view text);

/// Splits words as in GPT-2 if `use_regex`, and writes each byte as a visible character; before, if
/// `add_prefix_space`, puts a space before each word without one.
///
/// The words are those of `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
/// **Source**: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019,
/// encoder.py.
void split_into_bytes(AlignedText& text, bool add_prefix_space, bool use_regex);

}  // namespace tessera::text
