// The characters of a text and where they come from: what normalizers work on where a text is not
// ASCII alone.
#pragma once

#include <span>
#include <vector>

#include "models/text/pipeline/aligned_text.h"

namespace tessera::text {

struct Character {
  char32_t code;
  Span origin;
};
using Characters = std::vector<Character>;

/// The characters of bytes [from, to) of `text`.
Characters characters_of(const AlignedText& text, index_t from, index_t to);
void put(const Characters& characters, AlignedWriter& writer);

/// A character of a new text: `change` 0 stands for the next one of the old text, -n for it and the
/// n after it, 1 for none.
struct Change {
  char32_t code;
  int change;
};

/// The new text with the origins of what its characters stand for, and of the character before
/// where that is none. Where the changes count wrongly the origins shift, as the tokenizers
/// library's do.
Characters realigned(const Characters& old, std::span<const Change> changes);

}  // namespace tessera::text
