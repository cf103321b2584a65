#include "models/hugging_face/detail/answers.h"

#include "tensor/error.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

/// Logits whose softmax gives shares of these sizes, at the positions that are used.
std::vector<float> logits(const std::vector<double>& shares) {
  std::vector<float> result;
  for (const double share : shares) result.push_back(static_cast<float>(std::log(share)));
  return result;
}

/// "3-4 0.3; 3-3 0.18", rounded to six digits.
std::string shown(const WindowAnswers& answers) {
  std::string result;
  for (const AnswerSpan& span : answers.spans) {
    result += (result.empty() ? "" : "; ") +
              str_cat(span.first, '-', span.last, ' ', std::round(span.score * 1e6) / 1e6);
  }
  return result;
}

// [CLS] a question [SEP] and three tokens of context [SEP]; large scores outside must be ignored.
const std::vector<bool> kContext = {false, false, false, true, true, true, false};
const std::vector<float> kStart = logits({1, 1e30, 1e30, 6, 2, 1, 1e30});
const std::vector<float> kEnd = logits({2, 1e30, 1e30, 1, 5, 2, 1e30});

TEST(Answers, AreTheBestSpansOfTheContext) {
  const WindowAnswers best = find_answers(kStart, kEnd, kContext);
  EXPECT_EQ(shown(best), "3-4 0.3");
  EXPECT_NEAR(best.null_score, 0.02, 1e-7);
  EXPECT_EQ(shown(find_answers(kStart, kEnd, kContext, {.count = 100})),
            "3-4 0.3; 3-5 0.12; 4-4 0.1; 3-3 0.06; 4-5 0.04; 5-5 0.02");
  EXPECT_EQ(shown(find_answers(kStart, kEnd, kContext, {.count = 2, .max_tokens = 1})),
            "4-4 0.1; 3-3 0.06");
}

TEST(Answers, HaveAtMostFifteenTokens) {
  std::vector<bool> context(22, true);
  context[0] = false;
  std::vector<double> start(22, 1);
  std::vector<double> end(22, 1);
  start[2] = 100;
  end[17] = 200;  // the sixteenth token from there
  end[16] = 100;
  const auto [spans, null_score] = find_answers(logits(start), logits(end), context);
  EXPECT_EQ(spans.at(0).first, 2);
  EXPECT_EQ(spans.at(0).last, 16);
  const auto longer = find_answers(logits(start), logits(end), context, {.max_tokens = 16});
  EXPECT_EQ(longer.spans.at(0).last, 17);
}

TEST(Answers, OfEqualScoresTheFirst) {
  const std::vector<float> flat(7, 0);
  EXPECT_EQ(find_answers(flat, flat, kContext).spans.at(0).first, 3);
  EXPECT_EQ(find_answers(flat, flat, kContext).spans.at(0).last, 3);
}

TEST(Answers, AreNoneWithoutAContextOrWithoutNumbers) {
  const std::vector<float> three = {1, 2, 3};
  EXPECT_TRUE(find_answers(three, three, {false, false, false}).spans.empty());
  const std::vector<float> nans(3, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(find_answers(nans, three, {false, true, true}).spans.empty());
}

TEST(Answers, RefuseWhatDoesNotFit) {
  EXPECT_TRUE(test::throws("find_answers", {"got 7, 2 and 7"}, [] {
    find_answers(kStart, {{1, 2}}, kContext);
  }));
  EXPECT_TRUE(test::throws("find_answers", {"0"}, [] { find_answers({}, {}, {}); }));
  EXPECT_TRUE(test::throws("find_answers", {"count", "0"},
                           [] { find_answers(kStart, kEnd, kContext, {.count = 0}); }));
  EXPECT_TRUE(test::throws("find_answers", {"max_tokens", "-1"},
                           [] { find_answers(kStart, kEnd, kContext, {.max_tokens = -1}); }));
}

TEST(Answers, AreWidenedToWholeWords) {
  // [CLS] who [SEP] new ##ton ##s law . [SEP]: words are counted in each text.
  const text::Encoding window = {
      .ids = std::vector<index_t>(9, 5),
      .offsets = {{}, {0, 3}, {}, {0, 3}, {3, 6}, {6, 7}, {8, 11}, {11, 12}, {}},
      .types = std::vector<index_t>(9, 0),
      .texts = {-1, 0, -1, 1, 1, 1, 1, 1, -1},
      .words = {-1, 0, -1, 0, 0, 0, 1, -1, -1}};
  EXPECT_EQ(bytes_of_words(window, 4, 4), (text::Span{0, 7}));
  EXPECT_EQ(bytes_of_words(window, 5, 6), (text::Span{0, 11}));
  EXPECT_EQ(bytes_of_words(window, 6, 6), (text::Span{8, 11}));
  EXPECT_EQ(bytes_of_words(window, 7, 7), (text::Span{11, 12}));
  EXPECT_TRUE(test::throws("bytes_of_words", {"3 to 9"}, [&] { bytes_of_words(window, 3, 9); }));
}

}  // namespace
}  // namespace tessera::models
