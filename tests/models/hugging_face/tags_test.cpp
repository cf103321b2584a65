#include "models/hugging_face/detail/tags.h"

#include "tensor/error.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

const std::vector<std::string> kLabels = {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC", "B-a-b"};

/// One token: its bytes, whether it continues a word, and two labels' scores; the others are 0.
struct Row {
  text::Span bytes;
  bool continues;
  std::size_t label;
  float score;
  std::size_t other = 0;
  float other_score = 0;
};

std::vector<Tag> tags_of(const std::vector<Row>& rows, AggregationStrategy strategy) {
  std::vector<std::vector<float>> scores;
  for (const Row& row : rows) {
    auto& next = scores.emplace_back(kLabels.size());
    next[row.other] = row.other_score;
    next[row.label] = row.score;
  }
  std::vector<ScoredToken> tokens;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    tokens.push_back({rows[i].bytes, rows[i].continues, scores[i]});
  }
  return group_tags(tokens, kLabels, strategy);
}

/// "PER 0-7 0.75; LOC 8-9 0.5"
std::string shown(const std::vector<Tag>& tags) {
  std::string result;
  for (const Tag& tag : tags) {
    result += (result.empty() ? "" : "; ") +
              str_cat(tag.label, ' ', tag.bytes.begin, '-', tag.bytes.end, ' ', tag.score);
  }
  return result;
}

TEST(Tags, OfSingleTokensAreTheirBestLabels) {
  const std::vector<Row> rows = {{{0, 3}, false, 1, 0.75F},
                                 {{4, 7}, false, 0, 1},
                                 {{8, 9}, false, 2, 0.5F},
                                 {{9, 11}, true, 2, 0.25F},
                                 {{12, 13}, false, 5, 1}};
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kNone)),
            "B-PER 0-3 0.75; I-PER 8-9 0.5; I-PER 9-11 0.25; MISC 12-13 1");
}

TEST(Tags, GroupNeighboursOfOneKind) {
  // B- begins a new group, I- only continues B- and I- with the same label, O is in between.
  const std::vector<Row> rows = {{{0, 1}, false, 1, 1},      {{1, 2}, false, 2, 0.5F},
                                 {{2, 3}, false, 1, 0.25F},  {{3, 4}, false, 4, 0.5F},
                                 {{4, 5}, false, 4, 0.25F},  {{5, 6}, false, 0, 1},
                                 {{6, 7}, false, 4, 0.125F}, {{7, 8}, false, 5, 0.5F},
                                 {{8, 9}, false, 5, 1},      {{9, 10}, false, 6, 1}};
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kSimple)),
            "PER 0-2 0.75; PER 2-3 0.25; LOC 3-5 0.375; LOC 6-7 0.125; MISC 7-9 0.75; b 9-10 1");
}

TEST(Tags, OfWordsAreThoseOfOneTokenOrOfTheMean) {
  // One word of three tokens; then one of a single token.
  const std::vector<Row> rows = {{{0, 2}, false, 1, 0.5F, 3, 0.375F},
                                 {{2, 4}, true, 3, 0.375F, 1, 0.125F},
                                 {{4, 6}, true, 0, 0.625F, 3, 0.375F},
                                 {{7, 8}, false, 4, 0.5F}};
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kFirst)), "PER 0-6 0.5; LOC 7-8 0.5");
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kMax)), "LOC 7-8 0.5");
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kAverage)), "LOC 0-8 0.4375");
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kSimple)),
            "PER 0-2 0.5; LOC 2-4 0.375; LOC 7-8 0.5");
}

TEST(Tags, OfATextThatBeginsInsideAWord) {
  const std::vector<Row> rows = {{{0, 2}, true, 1, 0.5F}, {{2, 4}, true, 2, 1}};
  EXPECT_EQ(shown(tags_of(rows, AggregationStrategy::kFirst)), "PER 0-4 0.5");
  EXPECT_EQ(shown(tags_of({}, AggregationStrategy::kAverage)), "");
}

TEST(Tags, NeedAScoreForEachLabel) {
  const std::vector<float> two = {1, 2};
  const std::vector<ScoredToken> tokens = {{{0, 1}, false, two}};
  EXPECT_TRUE(test::throws("group_tags", {"7 labels, got 2 scores"},
                           [&] { group_tags(tokens, kLabels, AggregationStrategy::kNone); }));
  EXPECT_EQ(aggregation_strategy("average"), AggregationStrategy::kAverage);
  EXPECT_TRUE(test::throws("aggregation_strategy", {"average", "got 'mean'"},
                           [] { aggregation_strategy("mean"); }));
}

TEST(Tags, KnowWhichTokensGoOnWithAWord) {
  const std::string text = "caf\xc3\xa9s in Rio";
  EXPECT_FALSE(continues_word(text, {0, 5}, "caf\xc3\xa9", true, false));
  EXPECT_FALSE(continues_word(text, {0, 5}, "cafe", true, false));
  EXPECT_TRUE(continues_word(text, {5, 6}, "##s", true, false));
  EXPECT_FALSE(continues_word(text, {5, 6}, "##s", true, true));
  EXPECT_TRUE(continues_word(text, {5, 6}, "s", false, false));
  EXPECT_FALSE(continues_word(text, {0, 5}, "x", false, false));
  EXPECT_FALSE(continues_word(text, {7, 9}, "in", false, false));
  EXPECT_FALSE(continues_word(text, {6, 9}, " in", false, false));
  EXPECT_TRUE(continues_word(text, {13, 13}, "", false, false));
  EXPECT_TRUE(test::throws("continues_word", {"13 bytes, got 9 to 14"}, [&] {
    continues_word(text, {9, 14}, "x", false, false);
  }));
}

}  // namespace
}  // namespace tessera::models
