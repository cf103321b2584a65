#include "tessera/models/text/detail/byte_level.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tessera/models/text/detail/unicode.h"

namespace tessera::text {

namespace {

constexpr unsigned kCharacters = 0x144;  // the last one is U+0143

constexpr bool is_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
}

/// Each byte's character, and each character's byte, or -1.
struct Tables {
  std::array<std::array<char, 2>, 256> characters{};
  std::array<std::size_t, 256> sizes{};
  std::array<int, kCharacters> bytes{};

  constexpr Tables() {
    bytes.fill(-1);
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const unsigned code = is_itself(byte) ? byte : next++;
      bytes[code] = static_cast<int>(byte);
      sizes[byte] = code < 0x80 ? 1 : 2;
      characters[byte] = {static_cast<char>(code < 0x80 ? code : 0xc0 | (code >> 6)),
                          static_cast<char>(code < 0x80 ? 0 : 0x80 | (code & 0x3f))};
    }
  }
};
constexpr Tables kTables;

enum class CharacterKind : std::uint8_t { kSpace, kLetter, kNumber, kOther };

CharacterKind kind_beyond_ascii(char32_t code) {
  if (is_letter(code)) return CharacterKind::kLetter;
  if (is_space(code)) return CharacterKind::kSpace;
  return is_number(code) ? CharacterKind::kNumber : CharacterKind::kOther;
}

constexpr std::array<CharacterKind, 128> kAscii = [] {
  std::array<CharacterKind, 128> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::size_t lower = i | 0x20;
    kinds[i] = lower >= 'a' && lower <= 'z'           ? CharacterKind::kLetter
               : i >= '0' && i <= '9'                 ? CharacterKind::kNumber
               : i == ' ' || (i >= '\t' && i <= '\r') ? CharacterKind::kSpace
                                                      : CharacterKind::kOther;
  }
  return kinds;
}();

/// The kind of a character, and the beginning of the next character.
struct Next {
  CharacterKind kind;
  index_t end;
};
Next next_of(std::string_view text, index_t at) {
  const auto byte = static_cast<unsigned char>(text[static_cast<std::size_t>(at)]);
  if (byte < 0x80) return {kAscii[byte], at + 1};
  const char32_t code = code_point_at(text, static_cast<std::size_t>(at));
  return {kind_beyond_ascii(code), at + static_cast<index_t>(utf8_size(code))};
}

index_t end_of_run(std::string_view text, index_t at, index_t end, CharacterKind kind) {
  while (at < end) {
    const Next next = next_of(text, at);
    if (next.kind != kind) break;
    at = next.end;
  }
  return at;
}

/// The size of the ending, such as 's, at the beginning of `text`; 0: none.
index_t size_of_ending(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  if (text[1] == 's' || text[1] == 't' || text[1] == 'm' || text[1] == 'd') return 2;
  const std::string_view two = text.substr(1, 2);
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

/// The end of GPT-2's word that begins at `at`.
index_t end_of_word(std::string_view text, index_t at, index_t end) {
  const auto size = static_cast<std::size_t>(end - at);
  const std::string_view rest = text.substr(static_cast<std::size_t>(at), size);
  if (const index_t ending = size_of_ending(rest); ending > 0) return at + ending;
  const Next first = next_of(text, at);
  if (first.kind != CharacterKind::kSpace) return end_of_run(text, first.end, end, first.kind);
  if (rest[0] == ' ' && first.end < end) {
    const Next second = next_of(text, first.end);
    if (second.kind != CharacterKind::kSpace) return end_of_run(text, second.end, end, second.kind);
  }
  // The last space before a word belongs to that word.
  index_t last = at;
  index_t space = first.end;
  while (space < end) {
    const Next next = next_of(text, space);
    if (next.kind != CharacterKind::kSpace) break;
    last = space;
    space = next.end;
  }
  return space == end || last == at ? space : last;
}

/// Performance-critical: every byte of every text is written here.
void write_bytes(AlignedText& text) {
  AlignedText written{.text = {}, .origins = {}, .begin = text.begin, .effort = text.effort};
  written.text.reserve(text.text.size() + text.text.size() / 4);
  written.origins.reserve(text.text.size() + text.text.size() / 4);
  for (Span& word : text.words) {
    const index_t begin = std::ssize(written.text);
    for (index_t at = word.begin; at < word.end;) {
      const auto size = static_cast<index_t>(utf8_size(text.text[static_cast<std::size_t>(at)]));
      const Span origin = text.origin(at, at + size);
      for (const index_t end = at + size; at < end; ++at) {
        const auto byte = static_cast<unsigned char>(text.text[static_cast<std::size_t>(at)]);
        for (const char c : character_of_byte(byte)) {
          written.text.push_back(c);
          written.origins.push_back(origin);
        }
      }
    }
    word = {begin, std::ssize(written.text)};
  }
  check_growth(text, std::ssize(written.text));
  written.words = std::move(text.words);
  text = std::move(written);
}

}  // namespace

std::string_view character_of_byte(unsigned char byte) {
  return {kTables.characters[byte].data(), kTables.sizes[byte]};
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<unsigned char>(text[i]);
    if (code >= 0xe0) return std::nullopt;
    if (code >= 0x80) {
      if (++i == text.size()) return std::nullopt;
      code = ((code & 0x1f) << 6) | (static_cast<unsigned char>(text[i]) & 0x3fU);
    }
    if (code >= kCharacters || kTables.bytes[code] < 0) return std::nullopt;
    bytes += static_cast<char>(kTables.bytes[code]);
  }
  return bytes;
}

void split_into_bytes(AlignedText& text, bool add_prefix_space, bool use_regex) {
  const auto lacks_space = [&](Span word) {
    return text.text[static_cast<std::size_t>(word.begin)] != ' ';
  };
  if (add_prefix_space && std::any_of(text.words.begin(), text.words.end(), lacks_space)) {
    prepend_to_words(" ", text, [](Span) { return true; });
  }
  if (use_regex) {
    std::vector<Span> result;
    result.reserve(text.words.size() + text.text.size() / 4);
    for (const Span word : text.words) {
      for (index_t at = word.begin; at < word.end;) {
        const index_t end = end_of_word(text.text, at, word.end);
        result.push_back({at, end});
        at = end;
      }
    }
    text.words = std::move(result);
  }
  write_bytes(text);
}

}  // namespace tessera::text
