#include "tessera/models/text/detail/steps.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tessera/models/text/detail/byte_level.h"
#include "tessera/models/text/detail/pattern.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/detail/unicode_forms.h"
#include "tessera/models/text/utf8.h"

namespace tessera::text {

namespace {

bool is_ascii(const AlignedText& text) {
  return find_beyond_ascii(text.text) == text.text.size();
}

/// Rewrites each character: `write(code, origin, writer)`.
template <class Write>
void rewrite(AlignedText& text, Write write) {
  AlignedWriter writer(text);
  for (std::size_t at = 0; at < text.text.size();) {
    const char32_t code = code_point_at(text.text, at);
    const std::size_t next = at + utf8_size(code);
    write(code, text.origin(static_cast<index_t>(at), static_cast<index_t>(next)), writer);
    at = next;
  }
  writer.replace(text);
}

template <class Drops>
void drop(AlignedText& text, Drops drops) {
  rewrite(text, [&](char32_t code, Span origin, AlignedWriter& writer) {
    if (!drops(code)) writer.put(code, origin);
  });
}

void to_lower_case(AlignedText& text) {
  if (is_ascii(text)) {
    for (char& c : text.text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    }
    return;
  }
  rewrite(text, [](char32_t code, Span origin, AlignedWriter& writer) {
    for (const char32_t lower : lower_case(code)) writer.put(lower, origin);
  });
}

/// A run of characters beyond ASCII can change only together with the previous character.
void to_form(AlignedText& text, UnicodeForm form) {
  if (is_ascii(text)) return;
  AlignedWriter writer(text);
  const std::size_t size = text.text.size();
  for (std::size_t at = 0; at < size;) {
    const std::size_t run = find_beyond_ascii(text.text, at);
    const std::size_t start = run > at ? run - 1 : run;
    std::size_t end = run;
    while (end < size && static_cast<unsigned char>(text.text[end]) >= 0x80) ++end;
    writer.copy(static_cast<index_t>(at), static_cast<index_t>(run == size ? run : start));
    if (run == size) break;
    const auto from = static_cast<index_t>(start);
    put(in_form(characters_of(text, from, static_cast<index_t>(end)), form), writer);
    at = end;
  }
  writer.replace(text);
}

TextStep in_unicode_form(UnicodeForm form) {
  return [form](AlignedText& text) { to_form(text, form); };
}

void strip_accents(AlignedText& text) {
  if (!is_ascii(text)) drop(text, is_combining_mark);
}

/// Removes white space at the ends.
TextStep strip_normalizer(const Json& json) {
  return
      [left = json.boolean("strip_left"), right = json.boolean("strip_right")](AlignedText& text) {
        index_t from = 0;
        index_t to = 0;  // after the last character to keep
        bool leads = true;
        for (index_t at = 0; at < std::ssize(text.text);) {
          const char32_t code = code_point_at(text.text, static_cast<std::size_t>(at));
          const index_t next = at + static_cast<index_t>(utf8_size(code));
          const bool space = is_space(code);
          leads = leads && space;
          if (leads && left) from = next;
          if (!space || !right) to = next;
          at = next;
        }
        if (from == 0 && to == std::ssize(text.text)) return;
        AlignedWriter writer(text);
        if (from < to) writer.copy(from, to);
        writer.replace(text);
      };
}

/// The origin of the character before byte `end`.
Span origin_before(const AlignedText& text, index_t end) {
  index_t start = end;
  while (start > 0 && (start == end || continues_code_point(text.text, start))) --start;
  return start < end ? text.origin(start, end) : Span{text.begin, text.begin};
}

TextStep replace_normalizer(const Json& json) {
  return
      [pattern = Pattern(json.at("pattern")), content = json.text("content")](AlignedText& text) {
        const index_t size = std::ssize(text.text);
        std::vector<Span> matches;
        if (size > 0) pattern.find(text.text, {0, size}, matches, text.effort);
        if (matches.empty()) return;
        check_growth(text, std::ssize(matches) * std::ssize(content));
        AlignedWriter writer(text);
        index_t at = 0;
        for (const Span match : matches) {
          writer.copy(at, match.begin);
          writer.put(content, origin_before(text, match.end));
          at = match.end;
        }
        writer.copy(at, size);
        writer.replace(text);
      };
}

TextStep prepend_normalizer(const Json& json) {
  return [prefix = json.text("prepend")](AlignedText& text) {
    if (text.text.empty()) return;
    check_growth(text, std::ssize(text.text) + std::ssize(prefix));
    AlignedWriter writer(text);
    writer.put(prefix, text.origin(0, static_cast<index_t>(utf8_size(text.text[0]))));
    writer.copy(0, std::ssize(text.text));
    writer.replace(text);
  };
}

/// SentencePiece's "nmt": control characters are removed, and characters like spaces become spaces.
void apply_nmt(AlignedText& text) {
  const auto is_dropped = [](char32_t code) {
    return (code >= 0x1 && code <= 0x8) || code == 0xb || (code >= 0xe && code <= 0x1f) ||
           code == 0x7f || code == 0x8f || code == 0x9f;
  };
  const auto becomes_space = [](char32_t code) {
    return code == '\t' || code == '\n' || code == '\f' || code == '\r' || code == 0x1680 ||
           (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 ||
           code == 0x2581 || code == 0xfeff || code == 0xfffd;
  };
  rewrite(text, [&](char32_t code, Span origin, AlignedWriter& writer) {
    if (!is_dropped(code)) writer.put(becomes_space(code) ? U' ' : code, origin);
  });
}

void to_visible_bytes(AlignedText& text) {
  rewrite(text, [](char32_t code, Span origin, AlignedWriter& writer) {
    std::string bytes;
    append_utf8(code, bytes);
    for (const char byte : bytes) {
      writer.put(character_of_byte(static_cast<unsigned char>(byte)), origin);
    }
  });
}

/// Cleans a text, surrounds ideographs by spaces, strips accents and makes it lower case, in this
/// order. ASCII takes a fast path, in place.
/// **Source**: Devlin et al., "BERT", 2018, as in the tokenizers library.
class BertNormalizer {
 public:
  explicit BertNormalizer(const Json& json);
  void operator()(AlignedText& text) const;

 private:
  Characters normalized(const Characters& characters) const;

  bool clean_text_;            // no control characters; white space becomes a space
  bool handle_chinese_chars_;  // a space before and after each ideograph
  bool lowercase_;
  bool strip_accents_;           // decomposed, without nonspacing marks
  std::array<char, 128> ascii_;  // the normalised character; 0: none
};

BertNormalizer::BertNormalizer(const Json& json)
    : clean_text_(json.boolean("clean_text", true)),
      handle_chinese_chars_(json.boolean("handle_chinese_chars", true)),
      lowercase_(json.boolean("lowercase", true)),
      strip_accents_(json.boolean("strip_accents", lowercase_)) {
  for (std::size_t i = 0; i < ascii_.size(); ++i) {
    const auto code = static_cast<char32_t>(i);
    ascii_[i] = static_cast<char>(code);
    if (clean_text_) {
      if (code == 0 || is_control(code)) {
        ascii_[i] = 0;
      } else if (is_space(code)) {
        ascii_[i] = ' ';
      }
    }
    if (lowercase_ && code >= 'A' && code <= 'Z') ascii_[i] = static_cast<char>(code | 0x20);
  }
}

void BertNormalizer::operator()(AlignedText& text) const {
  const auto becomes = [&](char c) { return ascii_[static_cast<unsigned char>(c)]; };
  const std::size_t size = text.text.size();
  std::size_t at = 0;  // everything before has been written in place
  std::size_t end = find_beyond_ascii(text.text);
  // A NUL that is kept is treated like one that is removed; the slower loop below distinguishes
  // them.
  for (; at < end && becomes(text.text[at]) != 0; ++at) text.text[at] = becomes(text.text[at]);
  if (at == size) return;

  AlignedWriter writer(text);
  writer.copy(0, static_cast<index_t>(at));
  while (at < size) {
    for (; at < end; ++at) {
      const char c = becomes(text.text[at]);
      const auto i = static_cast<index_t>(at);
      if (c != 0 || !clean_text_) writer.put(std::string_view(&c, 1), text.origin(i, i + 1));
    }
    while (end < size && static_cast<unsigned char>(text.text[end]) >= 0x80) ++end;
    const auto run = static_cast<index_t>(at);
    put(normalized(characters_of(text, run, static_cast<index_t>(end))), writer);
    at = end;
    end = find_beyond_ascii(text.text, at);
  }
  writer.replace(text);
}

/// The normalisation of characters beyond ASCII, which leaves normalised ASCII between them as is.
Characters BertNormalizer::normalized(const Characters& characters) const {
  Characters result;
  result.reserve(characters.size());
  for (const auto& [code, origin] : characters) {
    if (clean_text_ && (code == 0xfffd || is_control(code))) continue;
    const bool apart = handle_chinese_chars_ && is_ideograph(code);
    if (apart) result.push_back({' ', origin});
    result.push_back({clean_text_ && is_space(code) ? U' ' : code, origin});
    if (apart) result.push_back({' ', origin});
  }
  if (strip_accents_) {
    result = in_form(result, {});
    std::erase_if(result, [](const Character& c) { return is_nonspacing_mark(c.code); });
  }
  if (!lowercase_) return result;
  Characters lower;
  lower.reserve(result.size());
  for (const auto& [code, origin] : result) {
    for (const char32_t part : lower_case(code)) lower.push_back({part, origin});
  }
  return lower;
}

}  // namespace

TextStep read_normalizer(const Json& json) {
  const Json type = json.at("type");
  const std::string_view name = type.text();
  if (name == "Sequence") return step_sequence(json, "normalizers", read_normalizer);
  if (name == "BertNormalizer") return BertNormalizer(json);
  if (name == "Lowercase") return to_lower_case;
  if (name == "NFD") return in_unicode_form({});
  if (name == "NFKD") return in_unicode_form({.compatibility = true});
  if (name == "NFC") return in_unicode_form({.composed = true});
  if (name == "NFKC") return in_unicode_form({.compatibility = true, .composed = true});
  if (name == "StripAccents") return strip_accents;
  if (name == "Strip") return strip_normalizer(json);
  if (name == "Replace") return replace_normalizer(json);
  if (name == "Prepend") return prepend_normalizer(json);
  if (name == "Precompiled") return read_precompiled_map(json);
  if (name == "Nmt") return apply_nmt;
  if (name == "ByteLevel") return to_visible_bytes;
  type.fail(
      "must be BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Replace, "
      "Prepend, Precompiled, Nmt, ByteLevel or Sequence, got ",
      type.described());
}

}  // namespace tessera::text
