// The characters of a text and their origins, on which normalizers work if a text is not only
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

/// A character of a new text: `change` 0 replaces the next character of the old text, -n that
/// character and the n after it, 1 none.
struct Change {
  char32_t code;
  int change;
};

/// The new text; a character has the origins of the characters that it replaces, or of the previous
/// one if it replaces none. If the changes have wrong counts, the origins shift, as in the
/// tokenizers library.
Characters realigned(const Characters& old, std::span<const Change> changes);

}  // namespace tessera::text
