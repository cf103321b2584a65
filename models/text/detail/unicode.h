// Unicode: code points in UTF-8, their properties, lower case, and the normalization forms.
//
// If Unicode's versions differ, the properties are exactly those of the tokenizers library, because
// vocabularies were made with it. (0.23: its punctuation and marks are older than its letters.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::text {

/// The code point that begins at byte `at` of `text`, which is UTF-8.
inline char32_t code_point_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return first;
  if (first < 0xe0) return (first & 0x1f) << 6 | (byte(1) & 0x3f);
  if (first < 0xf0) return (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  return (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

/// The number of UTF-8 bytes of a code point; or of the code point that begins with byte `first`.
constexpr std::size_t utf8_size(char32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}
constexpr std::size_t utf8_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/// Appends a code point as UTF-8.
void append_utf8(char32_t code, std::string& text);

/// The version of the Unicode standard in utf8proc's tables: "15.0.0".
std::string_view unicode_version();

/// The general category. Order and names are those of the standard.
/// **Source**: The Unicode Standard, table 4-4.
enum class Category : std::uint8_t {
  kCn,
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp,
  kCc,
  kCf,
  kCs,
  kCo,
};
Category category(char32_t code);

bool is_letter(char32_t code);  // L
bool is_number(char32_t code);  // N
bool is_mark(char32_t code);    // M
bool is_space(char32_t code);   // White_Space
bool is_word(char32_t code);    // \w: Alphabetic, M, Nd, Pc, Join_Control

/// BERT's punctuation: ASCII's, including symbols, and P. **Source**: google-research/bert.
bool is_punctuation(char32_t code);
/// The characters that BERT drops: Cc, Cf, Co except tab, line feed and carriage return.
bool is_control(char32_t code);
/// Mn, which BERT drops if it strips accents.
bool is_nonspacing_mark(char32_t code);
/// M, which the normalizer StripAccents drops.
bool is_combining_mark(char32_t code);
/// BERT's Chinese characters: blocks of ideographs.
bool is_ideograph(char32_t code);

/// A few code points: the result of a mapping.
struct CodePoints {
  std::array<char32_t, 18> codes;  // U+FDFA becomes 18
  int size = 0;

  const char32_t* begin() const { return codes.data(); }
  const char32_t* end() const { return codes.data() + size; }
};

/// Lower case. Only U+0130 becomes two code points.
CodePoints lower_case(char32_t code);

/// The full decomposition, canonical or for compatibility; the code point itself if there is none.
CodePoints decomposition(char32_t code, bool compatibility);
/// The code point that two compose to; 0 if there is none.
char32_t composition(char32_t first, char32_t second);
/// The canonical combining class, by which marks are sorted.
int combining_class(char32_t code);

/// Whether a user-perceived character ends between two code points. Use one object per text.
/// **Source**: Unicode Standard Annex 29.
class GraphemeBreaks {
 public:
  bool between(char32_t last, char32_t next);

 private:
  std::int32_t state_ = 0;
};

}  // namespace tessera::text
