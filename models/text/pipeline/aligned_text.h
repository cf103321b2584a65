// A text on its way to tokens, which remembers where each of its bytes came from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/text/pipeline/effort.h"
#include "models/text/tokenizer.h"

namespace tessera::text {

/// What became of a text, and where it comes from in the text that was given.
struct AlignedText {
  std::string text;           // UTF-8
  std::vector<Span> origins;  // of each byte of `text`; empty: byte i comes from begin + i
  index_t begin = 0;          // where this piece begins in the text given
  Effort* effort = nullptr;   // is counted there; null: as if this were all of the text

  /// The bytes of the given text that bytes [from, to) of this one come from.
  Span origin(index_t from, index_t to) const;
};

/// Refuses what steps have made, or are about to make, of `text` where it is far longer than what was
/// given. **Errors**: as Effort.
void check_growth(const AlignedText& text, index_t size);

/// Writes what a text becomes, and puts it in the text's place.
class AlignedWriter {
 public:
  explicit AlignedWriter(const AlignedText& from);

  /// Bytes [from, to) as they are; whole characters.
  void copy(index_t from, index_t to);
  /// Something that comes from `origin`.
  void put(char32_t code, Span origin);
  void put(std::string_view bytes, Span origin);

  index_t size() const { return std::ssize(written_.text); }
  /// `text` is the one that this writer was made with. **Errors**: as check_growth.
  void replace(AlignedText& text);

 private:
  const AlignedText& from_;
  AlignedText written_;
};

/// The first byte at or after `at` that is beyond ASCII; the text's size if there is none.
std::size_t find_beyond_ascii(std::string_view text, std::size_t at = 0);

}  // namespace tessera::text
