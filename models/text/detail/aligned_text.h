// A text during tokenization, with the origin of each of its bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/detail/effort.h"
#include "models/text/tokenizer.h"

namespace tessera::text {

/// A Span in half the memory, for every byte of a text.
struct Origin {
  static constexpr std::size_t kMostBytes = std::numeric_limits<std::uint32_t>::max();  // of a text

  Origin() = default;
  Origin(index_t from, index_t to)
      : begin(static_cast<std::uint32_t>(from)), end(static_cast<std::uint32_t>(to)) {}
  Origin(Span span) : Origin(span.begin, span.end) {}
  operator Span() const { return {begin, end}; }

  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// A rewritten text, and the origin of each of its bytes in the original text.
struct AlignedText {
  std::string text;             // UTF-8
  std::vector<Origin> origins;  // of each byte of `text`; empty: byte i comes from begin + i
  index_t begin = 0;            // the position of this piece in the original text
  Effort* effort = nullptr;     // counts the work; null: as for a text of this size

  /// The bytes of the original text from which bytes [from, to) of this one come.
  Span origin(index_t from, index_t to) const;

  /// Counts one step that reads all of the text, and `more` of its parts. **Errors**: as Effort.
  void spend_step(index_t more = 0) const {
    constexpr index_t kCost = 16;  // of a step, for any text
    if (effort != nullptr) effort->spend(kCost + std::ssize(text) + more);
  }
};

/// Throws if `size`, which `text` has reached or will reach, is far above the size of the original
/// text. **Errors**: as Effort.
void check_growth(const AlignedText& text, index_t size);

/// Writes the new form of a text, and replaces the text with it.
class AlignedWriter {
 public:
  explicit AlignedWriter(const AlignedText& from);

  /// Copies bytes [from, to) unchanged; only whole characters.
  void copy(index_t from, index_t to);
  /// Writes characters that come from `origin`.
  void put(char32_t code, Span origin);
  void put(std::string_view bytes, Span origin);

  index_t size() const { return std::ssize(written_.text); }
  /// `text` must be the one that this writer was made with. **Errors**: as check_growth.
  void replace(AlignedText& text);

 private:
  const AlignedText& from_;
  AlignedText written_;
};

/// The first byte at or after `at` that is not ASCII; the text's size if there is none.
std::size_t find_beyond_ascii(std::string_view text, std::size_t at = 0);

}  // namespace tessera::text
