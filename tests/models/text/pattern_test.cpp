#include "models/text/detail/pattern.h"

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using test::expect_refused;

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

// Most of the syntax is in steps_test.cpp, compared with the reference.
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
