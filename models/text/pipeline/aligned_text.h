// A text on its way to tokens, which remembers where each of its bytes came from.
#pragma once

#include <string>
#include <vector>

#include "models/text/tokenizer.h"

namespace tessera::text {

/// What became of a text, and where it comes from in the text that was given.
struct AlignedText {
  std::string text;           // UTF-8
  std::vector<Span> origins;  // of each byte of `text`; empty: byte i comes from begin + i
  index_t begin = 0;          // where a piece that has not been changed begins

  /// The bytes of the given text that bytes [from, to) of this one come from.
  Span origin(index_t from, index_t to) const;
};

}  // namespace tessera::text
