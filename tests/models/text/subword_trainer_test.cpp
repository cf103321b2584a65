#include "models/text/detail/subword_trainer.h"

#include "tests/support/test.h"

namespace tessera::text {
namespace {

using test::throws;

WordCounts counts_of(const std::string& text) {
  WordCounts counts;
  std::istringstream in(text);
  for (std::string word; in >> word;) ++counts[word];
  return counts;
}

std::string listed(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += (text.empty() ? "" : " ") + token;
  return text;
}

// Many pairs are equally frequent, and some overlap themselves.
constexpr const char* kText =
    "she sells sea shells by the sea shore the shells she sells are sea shells aaaaaaa aaa banana "
    "bananas";

/// Results of training by the tokenizers library (0.23.2).
TEST(LearnSubwords, LearnsTheTokensOfTheTokenizersLibrary) {
  EXPECT_EQ(listed(learn_subwords(counts_of(kText), {.prefix = ""})),
            "a b e h l n o r s t y aa he ll se she lls an sea shells ban re the aaa sells ana "
            "banana are by ho sho aaaa bananas shore aaaaaaa");
}

TEST(LearnSubwords, StopsWhereTheOptionsSay) {
  const WordCounts counts = counts_of(kText);
  const std::string characters = "a b e h l n o r s t y";
  EXPECT_EQ(listed(learn_subwords(counts, {.vocabulary_size = 14, .prefix = ""})),
            characters + " aa he ll");
  EXPECT_EQ(listed(learn_subwords(counts, {.min_count = 6, .prefix = ""})), characters + " aa he");
  EXPECT_EQ(learn_subwords(counts, {.vocabulary_size = 0}), learn_subwords(counts, {}));
  EXPECT_EQ(
      listed(learn_subwords(counts, {.vocabulary_size = 3, .special = {"[X]", "a"}, .prefix = ""})),
      "[X] " + characters);
  // Models could not read longer ones.
  std::size_t longest = 0;
  for (const std::string& token : learn_subwords({{std::string(3000, 'a'), 1}}, {})) {
    longest = std::max(longest, token.size());
  }
  EXPECT_GT(longest, 500U);
  EXPECT_LE(longest, 1000U);
}

TEST(LearnSubwords, DropsRareCharactersAndMarksWhatContinuesAWord) {
  const WordCounts counts = {{"ab", 5}, {"xab", 1}, {"b\xc3\xa9", 2}};
  // Equally rare characters are removed from the highest code point down.
  EXPECT_EQ(
      listed(learn_subwords(counts, {.vocabulary_size = 1, .max_characters = 2, .prefix = ""})),
      "a b");
  EXPECT_EQ(listed(learn_subwords({{"ba", 1}}, {.max_characters = 1, .prefix = ""})), "a");
  EXPECT_EQ(listed(learn_subwords(counts, {.min_count = 2})),
            "a b x \xc3\xa9 ##b ##\xc3\xa9 ##a ab b\xc3\xa9");
}

TEST(LearnSubwords, RefusesWhatItCannotCount) {
  EXPECT_TRUE(throws("learn_subwords", {"must be at least 0", "-1"},
                     [] { learn_subwords({}, {.min_count = -1}); }));
  EXPECT_TRUE(throws("learn_subwords", {"counts of words must be at least 0, got -2"}, [] {
    learn_subwords({{"a", -2}}, {});
  }));
  EXPECT_TRUE(throws("split_characters", {"must be UTF-8"}, [] {
    learn_subwords({{"\xff", 1}}, {});
  }));
}

}  // namespace
}  // namespace tessera::text
