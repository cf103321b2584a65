#include "models/text/detail/normalizer.h"

#include <string>
#include <utility>
#include <vector>

#include "models/text/detail/bert_normalizer.h"
#include "models/text/detail/byte_characters.h"
#include "models/text/detail/pattern.h"
#include "models/text/detail/precompiled_map.h"
#include "models/text/detail/step_list.h"
#include "models/text/detail/unicode.h"
#include "models/text/detail/unicode_forms.h"
#include "models/text/utf8.h"

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

class Lowercase final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
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
};

class Form final : public Normalizer {
 public:
  explicit Form(UnicodeForm form) : form_(form) {}
  /// A run of characters beyond ASCII can change only together with the previous character.
  void apply(AlignedText& text) const override {
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
      put(in_form(characters_of(text, from, static_cast<index_t>(end)), form_), writer);
      at = end;
    }
    writer.replace(text);
  }

 private:
  UnicodeForm form_;
};

class StripAccents final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    if (!is_ascii(text)) drop(text, is_combining_mark);
  }
};

class Strip final : public Normalizer {
 public:
  explicit Strip(const Json& json)
      : left_(json.boolean("strip_left")), right_(json.boolean("strip_right")) {}
  void apply(AlignedText& text) const override {
    index_t from = 0;
    index_t to = 0;  // after the last character to keep
    bool leads = true;
    for (index_t at = 0; at < std::ssize(text.text);) {
      const char32_t code = code_point_at(text.text, static_cast<std::size_t>(at));
      const index_t next = at + static_cast<index_t>(utf8_size(code));
      const bool space = is_space(code);
      leads = leads && space;
      if (leads && left_) from = next;
      if (!space || !right_) to = next;
      at = next;
    }
    if (from == 0 && to == std::ssize(text.text)) return;
    AlignedWriter writer(text);
    if (from < to) writer.copy(from, to);
    writer.replace(text);
  }

 private:
  bool left_;
  bool right_;
};

class Replace final : public Normalizer {
 public:
  explicit Replace(const Json& json)
      : pattern_(json.at("pattern")), content_(json.text("content")) {}
  void apply(AlignedText& text) const override {
    const index_t size = std::ssize(text.text);
    std::vector<Span> matches;
    if (size > 0) pattern_.find(text.text, {0, size}, matches, text.effort);
    if (matches.empty()) return;
    check_growth(text, std::ssize(matches) * std::ssize(content_));
    AlignedWriter writer(text);
    index_t at = 0;
    for (const Span match : matches) {
      writer.copy(at, match.begin);
      writer.put(content_, origin_before(text, match.end));
      at = match.end;
    }
    writer.copy(at, size);
    writer.replace(text);
  }

 private:
  /// The origin of the character before byte `end`.
  static Span origin_before(const AlignedText& text, index_t end) {
    index_t start = end;
    while (start > 0 && (start == end || continues_code_point(text.text, start))) --start;
    return start < end ? text.origin(start, end) : Span{text.begin, text.begin};
  }

  Pattern pattern_;
  std::string content_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(const Json& json) : text_(json.text("prepend")) {}
  void apply(AlignedText& text) const override {
    if (text.text.empty()) return;
    check_growth(text, std::ssize(text.text) + std::ssize(text_));
    AlignedWriter writer(text);
    writer.put(text_, text.origin(0, static_cast<index_t>(utf8_size(text.text[0]))));
    writer.copy(0, std::ssize(text.text));
    writer.replace(text);
  }

 private:
  std::string text_;
};

/// SentencePiece's "nmt": control characters are removed, and characters like spaces become spaces.
class Nmt final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    rewrite(text, [](char32_t code, Span origin, AlignedWriter& writer) {
      if (!is_dropped(code)) writer.put(is_space_there(code) ? U' ' : code, origin);
    });
  }

 private:
  static bool is_dropped(char32_t code) {
    return (code >= 0x1 && code <= 0x8) || code == 0xb || (code >= 0xe && code <= 0x1f) ||
           code == 0x7f || code == 0x8f || code == 0x9f;
  }
  static bool is_space_there(char32_t code) {
    return code == '\t' || code == '\n' || code == '\f' || code == '\r' || code == 0x1680 ||
           (code >= 0x200b && code <= 0x200f) || code == 0x2028 || code == 0x2029 ||
           code == 0x2581 || code == 0xfeff || code == 0xfffd;
  }
};

class ByteLevel final : public Normalizer {
 public:
  void apply(AlignedText& text) const override {
    rewrite(text, [](char32_t code, Span origin, AlignedWriter& writer) {
      std::string bytes;
      append_utf8(code, bytes);
      for (const char byte : bytes) {
        writer.put(character_of_byte(static_cast<unsigned char>(byte)), origin);
      }
    });
  }
};

BertNormalizerOptions read_bert(const Json& json) {
  BertNormalizerOptions options;
  options.clean_text = json.boolean("clean_text", true);
  options.handle_chinese_chars = json.boolean("handle_chinese_chars", true);
  options.lowercase = json.boolean("lowercase", true);
  options.strip_accents = json.boolean("strip_accents", options.lowercase);
  return options;
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const Json& json) {
  const Json type = json.at("type");
  const std::string_view name = type.text();
  if (name == "Sequence")
    return std::make_unique<StepSequence<Normalizer>>(json, "normalizers", read_normalizer);
  if (name == "BertNormalizer") return std::make_unique<BertNormalizer>(read_bert(json));
  if (name == "Lowercase") return std::make_unique<Lowercase>();
  if (name == "NFD") return std::make_unique<Form>(UnicodeForm{});
  if (name == "NFKD") return std::make_unique<Form>(UnicodeForm{.compatibility = true});
  if (name == "NFC") return std::make_unique<Form>(UnicodeForm{.composed = true});
  if (name == "NFKC") {
    return std::make_unique<Form>(UnicodeForm{.compatibility = true, .composed = true});
  }
  if (name == "StripAccents") return std::make_unique<StripAccents>();
  if (name == "Strip") return std::make_unique<Strip>(json);
  if (name == "Replace") return std::make_unique<Replace>(json);
  if (name == "Prepend") return std::make_unique<Prepend>(json);
  if (name == "Precompiled") {
    return std::make_unique<PrecompiledMap>(json.at("precompiled_charsmap"));
  }
  if (name == "Nmt") return std::make_unique<Nmt>();
  if (name == "ByteLevel") return std::make_unique<ByteLevel>();
  type.fail(
      "must be BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, StripAccents, Strip, Replace, "
      "Prepend, Precompiled, Nmt, ByteLevel or Sequence, got ",
      type.described());
}

}  // namespace tessera::text
