// A text during tokenization, with the origin of each of its bytes, and a limit on the work.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/tokenizer.h"

namespace tessera::text {

/// Counts the work of a tokenizer's steps on a text: an untrusted file may have 1000 steps, regular
/// expressions with exponential time, long tokens that nearly match everywhere, and texts that
/// double repeatedly. All parts of a text share one Effort.
///
/// **Errors** throughout: std::invalid_argument: more than any real tokenizer needs.
class Effort {
 public:
  /// `bytes`: the size of the text.
  explicit Effort(index_t bytes) : bytes_(bytes), left_(kSteps + kStepsPerByte * bytes) {}

  /// Counts steps of 1 to 5 nanoseconds each.
  void spend(index_t steps) {
    if ((left_ -= steps) < 0) fail_spent();
  }
  /// Throws if the text, or a part of it, is too long.
  void check_size(index_t size) const { check_count(size, "bytes"); }
  /// Throws if the text, or a part of it, has too many tokens.
  void check_tokens(index_t count) const { check_count(count, "tokens"); }
  /// Counts the final size of a part.
  void keep(index_t size) { check_size(kept_ += size); }

 private:
  static constexpr index_t kSteps = 5'000'000;
  static constexpr index_t kStepsPerByte = 200;  // GPT-4's expression takes 30
  static constexpr index_t kMostTimes = 12;      // U+FDFA grows 11 times in bytes by NFKD
  static constexpr index_t kShort = 1000;

  index_t most() const { return kMostTimes * (bytes_ + kShort); }
  void check_count(index_t count, const char* unit) const {
    if (count > most()) fail_count(count, unit);
  }
  [[noreturn]] void fail_spent() const;
  [[noreturn]] void fail_count(index_t count, const char* unit) const;

  index_t bytes_;
  index_t left_;
  index_t kept_ = 0;
};

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

/// A rewritten text, the origin of each of its bytes in the original text, and its words.
struct AlignedText {
  std::string text;              // UTF-8
  std::vector<Origin> origins;   // of each byte of `text`; empty: byte i comes from begin + i
  index_t begin = 0;             // the position of this piece in the original text
  Effort* effort = nullptr;      // counts the work; null: as for a text of this size
  std::vector<Span> words = {};  // in `text`; a token never spans two words

  /// The bytes of the original text from which bytes [from, to) of this one come.
  Span origin(index_t from, index_t to) const;

  /// Counts one step that reads all of the text and its words. **Errors**: as Effort.
  void spend_step() const {
    constexpr index_t kCost = 16;  // of a step, for any text
    if (effort != nullptr) effort->spend(kCost + std::ssize(text) + std::ssize(words));
  }
};

/// Throws if `size`, which `text` has reached or will reach, is far above the size of the original
/// text. **Errors**: as Effort.
void check_growth(const AlignedText& text, index_t size);

/// Writes the new form of a text, and replaces the text with it, except its words.
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

// ---- characters and their origins, on which normalizers work if a text is not only ASCII ----

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
