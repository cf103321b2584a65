#include "tessera/models/text/detail/steps.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tessera/models/text/detail/byte_level.h"
#include "tessera/models/text/detail/pattern.h"
#include "tessera/models/text/detail/unicode.h"

namespace tessera::text {

namespace {

/// The treatment of a delimiter, for "the-final--countdown" split at "-":
enum class SplitBehavior {
  kRemoved,             // the|final|countdown
  kIsolated,            // the|-|final|-|-|countdown
  kMergedWithPrevious,  // the-|final-|-|countdown
  kMergedWithNext,      // the|-final|-|-countdown
  kContiguous,          // the|-|final|--|countdown
};

/// The behavior in the key "behavior"; `otherwise` if it is absent.
SplitBehavior read_behavior(const Json& json, SplitBehavior otherwise) {
  const auto value = json.find("behavior");
  if (!value) return otherwise;
  const std::string_view name = value->text();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  value->fail("must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got ",
              value->described());
}

/// Appends the words made from the parts of one word; none is empty.
class WordCutter {
 public:
  WordCutter(SplitBehavior behavior, std::vector<Span>& words)
      : behavior_(behavior), words_(words), before_(std::ssize(words)) {}
  /// Adds the next part.
  void add(Span bytes, bool is_delimiter);
  /// Must be called after the last part.
  void finish();

 private:
  enum class Part { kNone, kText, kDelimiter };

  SplitBehavior behavior_;
  std::vector<Span>& words_;
  index_t before_;           // the number of words before this one
  Part last_ = Part::kNone;  // the part before the next one
};

void WordCutter::add(Span bytes, bool is_delimiter) {
  const Part part = is_delimiter ? Part::kDelimiter : Part::kText;
  const Part last = std::exchange(last_, part);
  bool joins_last = false;
  switch (behavior_) {
    case SplitBehavior::kRemoved:
      if (is_delimiter) return;
      break;
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kMergedWithPrevious:
      joins_last = is_delimiter && last == Part::kText;
      break;
    case SplitBehavior::kMergedWithNext:
      joins_last = !is_delimiter && last == Part::kDelimiter;
      break;
    case SplitBehavior::kContiguous:
      joins_last = part == last;
      break;
  }
  if (joins_last) {
    words_.back().end = bytes.end;
  } else {
    words_.push_back(bytes);
  }
}

void WordCutter::finish() {
  // A pattern may match an empty text.
  words_.erase(std::remove_if(words_.begin() + before_, words_.end(),
                              [](Span word) { return word.begin == word.end; }),
               words_.end());
}

/// Splits words at characters.
template <class IsDelimiter>
void split_at(AlignedText& text, SplitBehavior behavior, IsDelimiter is_delimiter) {
  std::vector<Span> result;
  for (const Span word : text.words) {
    WordCutter cutter(behavior, result);
    index_t start = word.begin;  // of the text between delimiters
    for (index_t at = word.begin; at < word.end;) {
      const char32_t code = code_point_at(text.text, static_cast<std::size_t>(at));
      const index_t next = at + static_cast<index_t>(utf8_size(code));
      if (is_delimiter(code)) {
        if (start < at) cutter.add({start, at}, false);
        cutter.add({at, next}, true);
        start = next;
      }
      at = next;
    }
    if (start < word.end) cutter.add({start, word.end}, false);
    cutter.finish();
  }
  text.words = std::move(result);
}

enum class AsciiKind : std::uint8_t { kSpace, kMark, kOther };

constexpr std::array<AsciiKind, 128> kAsciiKinds = [] {
  std::array<AsciiKind, 128> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::size_t lower = i | 0x20;
    const bool is_word = (lower >= 'a' && lower <= 'z') || (i >= '0' && i <= '9');
    kinds[i] = i == ' ' || (i >= '\t' && i <= '\r') ? AsciiKind::kSpace
               : i > ' ' && i < 0x7f && !is_word    ? AsciiKind::kMark
                                                    : AsciiKind::kOther;
  }
  return kinds;
}();

/// Splits at white space, which is removed, and around each punctuation mark. Written for speed.
/// **Source**: Devlin et al., "BERT", 2018, as in the tokenizers library.
void split_as_bert(AlignedText& text) {
  const std::string_view all = text.text;
  std::vector<Span> result;
  result.reserve(text.words.size() + all.size() / 4);
  for (const Span word : text.words) {
    index_t start = word.begin;
    const auto add_before = [&](index_t at) {
      if (start < at) result.push_back({start, at});
    };
    for (index_t at = word.begin; at < word.end;) {
      const auto byte = static_cast<unsigned char>(all[static_cast<std::size_t>(at)]);
      index_t next = at + 1;
      bool space = false;
      bool mark = false;
      if (byte < 0x80) {
        space = kAsciiKinds[byte] == AsciiKind::kSpace;
        mark = kAsciiKinds[byte] == AsciiKind::kMark;
      } else {
        const char32_t code = code_point_at(all, static_cast<std::size_t>(at));
        next = at + static_cast<index_t>(utf8_size(code));
        space = is_space(code);
        mark = !space && is_punctuation(code);
      }
      if (space || mark) {
        add_before(at);
        if (mark) result.push_back({at, next});
        start = next;
      }
      at = next;
    }
    add_before(word.end);
  }
  text.words = std::move(result);
}

/// Words `\w+`, and runs of characters that are neither word characters nor white space.
void split_at_white_space(AlignedText& text) {
  enum class Kind { kSpace, kWord, kOther };
  const std::string_view all = text.text;
  std::vector<Span> result;
  for (const Span word : text.words) {
    Kind last = Kind::kSpace;
    for (index_t at = word.begin; at < word.end;) {
      const char32_t code = code_point_at(all, static_cast<std::size_t>(at));
      const index_t next = at + static_cast<index_t>(utf8_size(code));
      const Kind kind = is_word(code) ? Kind::kWord : is_space(code) ? Kind::kSpace : Kind::kOther;
      if (kind != Kind::kSpace && kind == last) result.back().end = next;
      if (kind != Kind::kSpace && kind != last) result.push_back({at, next});
      last = kind;
      at = next;
    }
  }
  text.words = std::move(result);
}

/// Splits at the matches of a pattern, or around them.
TextStep split_at_pattern(const Json& json) {
  return [pattern = Pattern(json.at("pattern")),
          behavior = read_behavior(json, SplitBehavior::kIsolated),
          invert = json.boolean("invert", false)](AlignedText& text) {
    std::vector<Span> result;
    std::vector<Span> matches;
    for (const Span word : text.words) {
      matches.clear();
      pattern.find(text.text, word, matches, text.effort);
      WordCutter cutter(behavior, result);
      index_t at = word.begin;
      for (const Span match : matches) {
        if (at < match.begin) cutter.add({at, match.begin}, invert);
        cutter.add(match, !invert);
        at = match.end;
      }
      if (at < word.end) cutter.add({at, word.end}, invert);
      cutter.finish();
    }
    text.words = std::move(result);
  };
}

char32_t read_character(const Json& json, std::string_view key) {
  const Json value = json.at(key);
  const std::string_view text = value.text();
  if (text.empty() || utf8_size(text[0]) != text.size()) {
    value.fail("must be one character, got ", value.described());
  }
  return code_point_at(text, 0);
}

/// Replaces spaces by a visible character, adds one before the first word, and splits before each.
/// **Source**: Kudo and Richardson, "SentencePiece", 2018.
class Metaspace {
 public:
  explicit Metaspace(const Json& json)
      : replacement_(read_character(json, "replacement")), split_(json.boolean("split", true)) {
    const bool adds = json.boolean("add_prefix_space", true);  // the key in older files
    const std::string scheme = json.text("prepend_scheme", adds ? "always" : "never");
    first_only_ = scheme == "first";
    prepends_ = scheme != "never";
    if (prepends_ && !first_only_ && scheme != "always") {
      json.at("prepend_scheme")
          .fail("must be always, first or never, got ", json.at("prepend_scheme").described());
    }
  }

  void operator()(AlignedText& text) const {
    const bool whole = text.words.size() == 1 && text.words[0] == Span{0, std::ssize(text.text)};
    replace_spaces(text);
    std::string sign;
    append_utf8(replacement_, sign);
    // The first word begins at the beginning of the original text, even if a normalizer has removed
    // parts.
    const auto wanted = [&](Span word) {
      return !first_only_ || (whole ? text.begin : text.origin(word.begin, word.end).begin) == 0;
    };
    if (prepends_) {
      prepend_to_words(sign, text, wanted);
    }
    if (split_) {
      split_at(text, SplitBehavior::kMergedWithNext,
               [this](char32_t code) { return code == replacement_; });
    }
  }

 private:
  void replace_spaces(AlignedText& text) const {
    AlignedWriter writer(text);
    for (Span& word : text.words) {
      const index_t begin = writer.size();
      for (index_t at = word.begin; at < word.end;) {
        index_t space = at;
        while (space < word.end && text.text[static_cast<std::size_t>(space)] != ' ') ++space;
        writer.copy(at, space);
        if (space < word.end) writer.put(replacement_, text.origin(space, space + 1));
        at = space + 1;
      }
      word = {begin, writer.size()};
    }
    writer.replace(text);
  }

  char32_t replacement_;
  bool first_only_;
  bool prepends_;
  bool split_;
};

/// Category N, in the pre-tokenizer's version, Unicode 17.
bool is_numeric(char32_t code) {
  return is_number(code) || (code >= 0x11de0 && code <= 0x11de9) ||
         (code >= 0x16ff4 && code <= 0x16ff6);
}

TextStep at_characters(bool (*is_delimiter)(char32_t), SplitBehavior behavior) {
  return [=](AlignedText& text) { split_at(text, behavior, is_delimiter); };
}

}  // namespace

TextStep read_pre_tokenizer(const Json& json) {
  const Json type = json.at("type");
  const std::string_view name = type.text();
  if (name == "Sequence") return step_sequence(json, "pretokenizers", read_pre_tokenizer);
  if (name == "BertPreTokenizer") return split_as_bert;
  if (name == "ByteLevel") {
    return [space = json.boolean("add_prefix_space", true),
            regex = json.boolean("use_regex", true)](AlignedText& text) {
      split_into_bytes(text, space, regex);
    };
  }
  if (name == "Whitespace") return split_at_white_space;
  if (name == "WhitespaceSplit") return at_characters(is_space, SplitBehavior::kRemoved);
  if (name == "Punctuation") {
    return at_characters(is_punctuation, read_behavior(json, SplitBehavior::kIsolated));
  }
  if (name == "Digits") {
    const bool each = json.boolean("individual_digits", false);
    return at_characters(is_numeric, each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }
  if (name == "Split") return split_at_pattern(json);
  if (name == "Metaspace") return Metaspace(json);
  if (name == "CharDelimiterSplit") {
    return [delimiter = read_character(json, "delimiter")](AlignedText& text) {
      split_at(text, SplitBehavior::kRemoved,
               [delimiter](char32_t code) { return code == delimiter; });
    };
  }
  type.fail(
      "must be BertPreTokenizer, ByteLevel, Whitespace, WhitespaceSplit, Punctuation, Digits, "
      "Split, Metaspace, CharDelimiterSplit or Sequence, got ",
      type.described());
}

}  // namespace tessera::text
