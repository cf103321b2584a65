// The characters of a text and where they come from: what normalizers work on if a text is not only
// ASCII.
#pragma once

#include <span>
#include <vector>

#include "models/text/detail/aligned_text.h"

namespace tessera::text {

struct Character {
  char32_t code;
  Origin origin;
};
using Characters = std::vector<Character>;

/// The characters of bytes [from, to) of `text`.
Characters characters_of(const AlignedText& text, index_t from, index_t to);
void put(const Characters& characters, AlignedWriter& writer);

/// A character of a new text: `change` 0 replaces the next one of the old text, -n for it and the
/// n after it, 1 for none.
struct Change {
  char32_t code;
  int change;
};

/// The new text with the origins of the characters that its own replace, or of the character before
/// if they replace none. If the changes count wrongly, the origins shift, as the tokenizers
/// library's do.
Characters realigned(const Characters& old, std::span<const Change> changes);

}  // namespace tessera::text
