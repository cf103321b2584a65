// Normalizers and pre-tokenizers compared with the tokenizers library's results in
// golden/tokenizers/steps.jsonl; the patterns that they find.
#include "tessera/models/text/detail/steps.h"

#include <fstream>

#include "tessera/models/text/detail/pattern.h"
#include "tessera/models/text/detail/unicode.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using test::expect_refused;

/// A part of the result, and the characters of the original text that it comes from.
struct Part {
  std::string text;
  Span characters;
  bool operator==(const Part&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Part& part) {
  return out << '"' << part.text << "\" " << part.characters.begin << '-' << part.characters.end;
}

/// The number of characters before each byte, and before the end.
std::vector<index_t> characters_before(std::string_view text) {
  std::vector<index_t> counts;
  index_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += utf8_size(text[at])) {
    counts.insert(counts.end(), utf8_size(text[at]), count++);
  }
  counts.push_back(count);
  return counts;
}

AlignedText whole(std::string_view text) {
  AlignedText result{std::string(text), {}};
  if (!text.empty()) result.words.push_back({0, std::ssize(text)});
  return result;
}

/// Each character of a normalized text, as a word.
AlignedText normalized(const TextStep& normalizer, std::string_view text) {
  AlignedText result = whole(text);
  normalizer(result);
  result.words.clear();
  for (index_t at = 0; at < std::ssize(result.text);) {
    const char first = result.text[static_cast<std::size_t>(at)];
    result.words.push_back({at, at + static_cast<index_t>(utf8_size(first))});
    at = result.words.back().end;
  }
  return result;
}

std::vector<Part> parts_of(const AlignedText& result, std::string_view text) {
  const std::vector<index_t> counts = characters_before(text);
  std::vector<Part> parts;
  for (const Span word : result.words) {
    const Span origin = result.origin(word.begin, word.end);
    parts.push_back({std::string(text_at(result.text, word)),
                     {counts.at(static_cast<std::size_t>(origin.begin)),
                      counts.at(static_cast<std::size_t>(origin.end))}});
  }
  return parts;
}

std::vector<Part> wanted_parts(const Json& json) {
  std::vector<Part> parts;
  for (const Json& part : json.items()) {
    const Json span = part.item(1);
    parts.push_back(
        {std::string(part.item(0).text()), {span.item(0).integer(), span.item(1).integer()}});
  }
  return parts;
}

TEST(TextSteps, EveryOneEqualsTheReference) {
  std::ifstream in(TESSERA_GOLDEN_DIR "/tokenizers/steps.jsonl");
  int cases = 0;
  for (std::string line; std::getline(in, line);) {
    const Json json = parse_json(line, "steps.jsonl");
    const Json spec = json.at("spec");
    const bool normalizes = json.text("kind") == "normalizer";
    const TextStep normalizer = normalizes ? read_normalizer(spec) : nullptr;
    const TextStep pre_tokenizer = normalizes ? nullptr : read_pre_tokenizer(spec);
    for (index_t i = 0; i < json.at("texts").size(); ++i, ++cases) {
      const std::string_view text = json.at("texts").item(i).text();
      AlignedText result = normalizes ? normalized(normalizer, text) : whole(text);
      if (pre_tokenizer) pre_tokenizer(result);
      EXPECT_EQ(parts_of(result, text), wanted_parts(json.at("want").item(i)))
          << line.substr(0, 200) << "\n"
          << text;
    }
  }
  EXPECT_GT(cases, 1000);
}

/// A piece that begins at a later position, and one that was rewritten before, have the same
/// origins.
TEST(TextSteps, OriginsCountFromTheTextGiven) {
  for (const char* const spec :
       {R"({"type": "BertNormalizer"})", R"({"type": "NFC"})",
        R"({"type": "Prepend", "prepend": "x"})", R"({"type": "Nmt"})",
        R"({"type": "Replace", "pattern": {"Regex": "b*"}, "content": "-"})"}) {
    const auto normalizer = read_normalizer(parse_json(spec, "spec"));
    for (const char* const text : {"plain A b", "e\xcc\x81 \xc3\x89\xe4\xb8\xad\x01 b", ""}) {
      const AlignedText first = normalized(normalizer, text);
      AlignedText moved{text, {}, 100};
      for (std::size_t i = 0; i < moved.text.size(); ++i) {
        const auto at = static_cast<index_t>(i);
        moved.origins.push_back({at + 100, at + 101});
      }
      AlignedText further{text, {}, 100};
      normalizer(moved);
      normalizer(further);
      EXPECT_EQ(further.text, first.text);
      EXPECT_EQ(further.begin, 100);
      for (const Span word : first.words) {
        const Span here = first.origin(word.begin, word.end);
        EXPECT_EQ(further.origin(word.begin, word.end), (Span{here.begin + 100, here.end + 100}))
            << spec;
        EXPECT_GE(moved.origin(word.begin, word.end).begin, 100) << spec;
      }
    }
  }
}

TEST(TextSteps, TextsThatGrowBeyondReasonAreRefused) {
  const auto forty = [](const std::string& part, const std::string& step) {
    std::string all = R"({"type": "Sequence", ")" + part + "\": [" + step;
    for (int i = 1; i < 40; ++i) all += "," + step;
    return parse_json(all + "]}", "t.json");
  };
  const std::string bytes = R"({"type": "ByteLevel"})";
  const auto doubles = read_normalizer(
      forty("normalizers", R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})"));
  const auto normalizer = read_normalizer(forty("normalizers", bytes));
  const auto pre_tokenizer = read_pre_tokenizer(forty("pretokenizers", bytes));
  const auto refuses = [](const auto& step, AlignedText text) {
    EXPECT_TRUE(test::throws("tokenizer", {"must become at most"}, [&] { step(text); }));
  };
  refuses(doubles, AlignedText{"a", {}, 0});
  refuses(normalizer, AlignedText{"\xc3\xa9", {}, 0});
  refuses(pre_tokenizer, whole("\xc3\xa9"));
}

/// The map's text for "a" begins inside the only text, which is "é".
TEST(TextSteps, AMapThatPointsIntoACharacterHasNothingThere) {
  const auto map =
      read_normalizer(parse_json(R"({"type": "Precompiled", "precompiled_charsmap": "iAE)" +
                                     std::string(515, 'A') + R"(EAAIBhBQAAw6kA"})",
                                 "t.json"));
  EXPECT_EQ(normalized(map, "ab").text, "ab");
}

TEST(TextSteps, WhatIsNotKnownIsRefusedByName) {
  const auto map = [](const std::string& base64) {
    return R"({"type": "Precompiled", "precompiled_charsmap": ")" + base64 + "\"}";
  };
  const std::vector<std::pair<std::string, std::string>> normalizers = {
      {R"({"type": "Magic"})", "t.json: type: must be Bert...got the text 'Magic'"},
      {R"({})", "type"},
      {R"({"type": "Sequence", "normalizers": [{"type": "X"}]})", "normalizers[0].type"},
      {map("a*=="), "must be base64, got '*' at byte 1"},
      {map(""),
       "precompiled_charsmap: the trie must have 4, 8, ... bytes inside of the map's 0, got 0"},
      {map("/////w=="), "got 4294967295"},
      {map("BAAAAAAAAAD/"), "texts must be UTF-8, got '\\xff'"}};
  for (const auto& [spec, words] : normalizers) {
    expect_refused([&json = spec] { read_normalizer(parse_json(json, "t.json")); }, words);
  }
  const std::vector<std::pair<std::string, std::string>> pre_tokenizers = {
      {R"({"type": "UnicodeScripts"})", "got the text 'UnicodeScripts'"},
      {R"({"type": "Punctuation", "behavior": "removed"})", "behavior: must be Removed, Isolated"},
      {R"({"type": "Metaspace", "replacement": "ab"})", "replacement: must be one character"},
      {R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})",
       "prepend_scheme: must be always, first or never"}};
  for (const auto& [spec, words] : pre_tokenizers) {
    expect_refused([&json = spec] { read_pre_tokenizer(parse_json(json, "t.json")); }, words);
  }
}

Pattern pattern(const std::string& expression) {
  return Pattern(parse_json(JsonObject({{"Regex", expression}}).text(), "t.json"));
}

/// The matches in `text`, with a bar after each.
std::string matches(const std::string& expression, const std::string& text) {
  std::vector<Span> spans;
  pattern(expression).find(text, {0, std::ssize(text)}, spans);
  std::string joined;
  for (const Span span : spans) joined += std::string(text_at(text, span)) + "|";
  return joined;
}

// EveryOneEqualsTheReference has most of the syntax.
TEST(PatternTest, FindsWhatOnigurumaFinds) {
  EXPECT_EQ(matches("a|ab", "abab"), "a|a|");         // the first alternative that matches
  EXPECT_EQ(matches("(?:ab|a)b", "abab"), "ab|ab|");  // steps back into a group
  EXPECT_EQ(matches("a*+a", "aaa"), "");              // does not
  EXPECT_EQ(matches("(?:ab)*+ab", "ababab"), "");
  EXPECT_EQ(matches("\".*?\"", "\"a\" \"b\""), "\"a\"|\"b\"|");
  EXPECT_EQ(matches("x{2}", "xxxxx"), "xx|xx|");
  EXPECT_EQ(matches("x{,2}y", "xxxy"), "xxy|");
  EXPECT_EQ(matches("x{a}", "x{a}"), "x{a}|");  // not a count
  EXPECT_EQ(matches("(?i:K)x", "kx\xe2\x84\xaaxKyKx"),
            "kx|\xe2\x84\xaax|Kx|");  // the Kelvin sign is a k
  EXPECT_EQ(matches("b*", "abb"), "|bb|");
  EXPECT_EQ(matches("[^^]", "a^"), "a|");
  EXPECT_EQ(matches("[]-]+", "a]-b"), "]-|");
}

TEST(PatternTest, SeesNothingOutsideOfItsWord) {
  const std::string text = "aab b";
  std::vector<Span> spans;
  pattern("\\Aab\\z|b(?!\\s)|^").find(text, {1, 3}, spans);
  EXPECT_EQ(spans, (std::vector<Span>{{1, 3}}));
}

TEST(PatternTest, RefusesByNameWhatItDoesNotKnow) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a(?<=b)", "got an unsupported group at byte 2"},
      {"(?<!b)", "an unsupported group"},
      {"(?<n>a)", "an unsupported group"},
      {"a(?i)b", "an unsupported group"},
      {"\\1", "an unsupported escape"},
      {"\\b", "an unsupported escape"},
      {"\\K", "an unsupported escape"},
      {"\\p{Han}", "an unsupported property"},
      {"\\pL", "an unsupported property"},
      {"[a&&b]", "&& in a class"},
      {"[[:punct:]]", "an unsupported class"},
      {"(a", "an unclosed group"},
      {"a)", "an unmatched )"},
      {"[a", "an unclosed class"},
      {"[z-a]", "an invalid range"},
      {"[a-\\w]", "an invalid range"},
      {"*a", "a repetition of nothing"},
      {"(?:a?)*", "a repeated part that may be empty"},
      {"(?=a)+", "a repeated lookahead"},
      {"a{1001}", "a count above 1000"},
      {"a{3,2}", "an invalid count"},
      {"a\\", "an unfinished expression"},
      {"\\x{110000}", "an invalid number"},
      {"\\u12", "an invalid number"},
      {"((((a{9}b){99}){99}){99}){99}", "must have at most 5000 steps"},
      {std::string(100, '('), "groups or classes deeper than 50"},
      {std::string(10'000, '['), "groups or classes deeper than 50"},
      {"a" + std::string(10'000, '?'), "more than 10 repetitions"},
      {"a" + std::string(10'000, '+'), "must have at most 5000 steps"},
      {std::string(20'001, 'a'), "must have at most 20000 bytes, got 20001"}};
  for (const auto& [expression, words] : cases) {
    expect_refused([&text = expression] { pattern(text); }, "t.json: Regex..." + words);
  }
}

TEST(PatternTest, StopsWhereAnExpressionTakesTooLong) {
  const std::string text(2000, 'a');
  std::vector<Span> spans;
  for (const char* const expression : {"(?:a|a)+b", "(?:a+)+b", "(?:a*a)*+b|(?:aa?)+c"}) {
    EXPECT_TRUE(test::throws("tokenizer", {"must take at most"}, [&] {
      pattern(expression).find(text, {0, 2000}, spans);
    })) << expression;
  }
}

TEST(PatternTest, LongRunsAreLinear) {
  const std::string text = std::string(300'000, ' ') + "x";
  EXPECT_EQ(matches("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", text).size(), text.size() + 1);
}

}  // namespace
}  // namespace tessera::text
