#include "models/text/detail/pre_tokenizer.h"

#include <string>
#include <utility>

#include "models/text/detail/pattern.h"
#include "models/text/detail/split.h"
#include "models/text/detail/step_list.h"
#include "models/text/detail/unicode.h"
#include "models/text/detail/word_pre_tokenizers.h"

namespace tessera::text {

namespace {

/// Words `\w+`, and runs of characters that are neither word characters nor white space.
class Whitespace final : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    const std::string_view text = words.text.text;
    std::vector<Span> result;
    for (const Span word : words.spans) {
      int last = kSpace;
      for (index_t at = word.begin; at < word.end;) {
        const char32_t code = code_point_at(text, static_cast<std::size_t>(at));
        const index_t next = at + static_cast<index_t>(utf8_size(code));
        const int kind = is_word(code) ? kWord : is_space(code) ? kSpace : kOther;
        if (kind != kSpace && kind == last) result.back().end = next;
        if (kind != kSpace && kind != last) result.push_back({at, next});
        last = kind;
        at = next;
      }
    }
    words.spans = std::move(result);
  }

 private:
  static constexpr int kSpace = 0;
  static constexpr int kWord = 1;
  static constexpr int kOther = 2;
};

/// Splits at the matches of a pattern, or around them.
class Split final : public PreTokenizer {
 public:
  explicit Split(const Json& json)
      : pattern_(json.at("pattern")),
        behavior_(read_behavior(json, SplitBehavior::kIsolated)),
        invert_(json.boolean("invert", false)) {}
  void apply(Words& words) const override {
    std::vector<Span> result;
    std::vector<Span> matches;
    for (const Span word : words.spans) {
      matches.clear();
      pattern_.find(words.text.text, word, matches, words.text.effort);
      WordCutter cutter(behavior_, result);
      index_t at = word.begin;
      for (const Span match : matches) {
        if (at < match.begin) cutter.add({at, match.begin}, invert_);
        cutter.add(match, !invert_);
        at = match.end;
      }
      if (at < word.end) cutter.add({at, word.end}, invert_);
      cutter.finish();
    }
    words.spans = std::move(result);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

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
class Metaspace final : public PreTokenizer {
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

  void apply(Words& words) const override {
    const bool whole =
        words.spans.size() == 1 && words.spans[0] == Span{0, std::ssize(words.text.text)};
    replace_spaces(words);
    std::string sign;
    append_utf8(replacement_, sign);
    // The first word begins at the beginning of the original text, even if a normalizer has removed
    // parts.
    const auto wanted = [&](Span word) {
      return !first_only_ ||
             (whole ? words.text.begin : words.text.origin(word.begin, word.end).begin) == 0;
    };
    if (prepends_) {
      prepend_to_words(sign, words, wanted);
    }
    if (split_) split_at(replacement_, SplitBehavior::kMergedWithNext, words);
  }

 private:
  void replace_spaces(Words& words) const {
    AlignedWriter writer(words.text);
    for (Span& word : words.spans) {
      const index_t begin = writer.size();
      for (index_t at = word.begin; at < word.end;) {
        index_t space = at;
        while (space < word.end && words.text.text[static_cast<std::size_t>(space)] != ' ') ++space;
        writer.copy(at, space);
        if (space < word.end) writer.put(replacement_, words.text.origin(space, space + 1));
        at = space + 1;
      }
      word = {begin, writer.size()};
    }
    writer.replace(words.text);
  }

  char32_t replacement_;
  bool first_only_;
  bool prepends_;
  bool split_;
};

class DelimiterSplit final : public PreTokenizer {
 public:
  explicit DelimiterSplit(const Json& json) : delimiter_(read_character(json, "delimiter")) {}
  void apply(Words& words) const override { split_at(delimiter_, SplitBehavior::kRemoved, words); }

 private:
  char32_t delimiter_;
};

/// Category N, in the pre-tokenizer's version, Unicode 17.
bool is_numeric(char32_t code) {
  return is_number(code) || (code >= 0x11de0 && code <= 0x11de9) ||
         (code >= 0x16ff4 && code <= 0x16ff6);
}

std::unique_ptr<PreTokenizer> at_characters(CharacterSplit::Kind kind, SplitBehavior behavior) {
  return std::make_unique<CharacterSplit>(kind, behavior);
}

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const Json& json) {
  const Json type = json.at("type");
  const std::string_view name = type.text();
  if (name == "Sequence")
    return std::make_unique<StepSequence<PreTokenizer>>(json, "pretokenizers", read_pre_tokenizer);
  if (name == "BertPreTokenizer") return std::make_unique<BertPreTokenizer>();
  if (name == "ByteLevel") {
    return std::make_unique<ByteLevelPreTokenizer>(
        ByteLevelOptions{.add_prefix_space = json.boolean("add_prefix_space", true),
                         .use_regex = json.boolean("use_regex", true)});
  }
  if (name == "Whitespace") return std::make_unique<Whitespace>();
  if (name == "WhitespaceSplit") return at_characters(is_space, SplitBehavior::kRemoved);
  if (name == "Punctuation") {
    return at_characters(is_punctuation, read_behavior(json, SplitBehavior::kIsolated));
  }
  if (name == "Digits") {
    const bool each = json.boolean("individual_digits", false);
    return at_characters(is_numeric, each ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
  }
  if (name == "Split") return std::make_unique<Split>(json);
  if (name == "Metaspace") return std::make_unique<Metaspace>(json);
  if (name == "CharDelimiterSplit") return std::make_unique<DelimiterSplit>(json);
  type.fail(
      "must be BertPreTokenizer, ByteLevel, Whitespace, WhitespaceSplit, Punctuation, Digits, "
      "Split, Metaspace, CharDelimiterSplit or Sequence, got ",
      type.described());
}

}  // namespace tessera::text
