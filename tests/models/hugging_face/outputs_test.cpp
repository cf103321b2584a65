// The results that tasks compute from scores: answers, tags, and labels with their scoring.
#include "tessera/models/hugging_face/detail/answers.h"
#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/models/hugging_face/detail/tags.h"
#include "tessera/tensor/error.h"
#include "tests/support/file_support.h"
#include "tests/support/oracle.h"
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
      .type_ids = std::vector<index_t>(9, 0),
      .sequence_ids = {-1, 0, -1, 1, 1, 1, 1, 1, -1},
      .word_ids = {-1, 0, -1, 0, 0, 0, 1, -1, -1}};
  EXPECT_EQ(bytes_of_words(window, 4, 4), (text::Span{0, 7}));
  EXPECT_EQ(bytes_of_words(window, 5, 6), (text::Span{0, 11}));
  EXPECT_EQ(bytes_of_words(window, 6, 6), (text::Span{8, 11}));
  EXPECT_EQ(bytes_of_words(window, 7, 7), (text::Span{11, 12}));
  EXPECT_TRUE(test::throws("bytes_of_words", {"3 to 9"}, [&] { bytes_of_words(window, 3, 9); }));
}

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
            "PER 0-2 0.75; PER 2-3 0.25; LOC 3-5 0.375; LOC 6-7 0.125; MISC 7-9 0.75; a-b 9-10 1");
}

// transformers: entity["entity"].split("-", 1)[-1], for any label.
TEST(Tags, OfGroupsAreCutAtTheFirstHyphen) {
  const std::vector<std::string> labels = {"O", "I-tax-amount", "blood-O", "FIRST-X-Y", "B--", "-"};
  const auto tagged = [&](std::size_t label) {
    std::vector<float> scores(labels.size());
    scores[label] = 1;
    const std::vector<ScoredToken> tokens = {{{0, 1}, false, scores}};
    return shown(group_tags(tokens, labels, AggregationStrategy::kSimple));
  };
  EXPECT_EQ(tagged(1), "tax-amount 0-1 1");
  EXPECT_EQ(tagged(2), "");  // "O": transformers removes it
  EXPECT_EQ(tagged(3), "X-Y 0-1 1");
  EXPECT_EQ(tagged(4), "- 0-1 1");
  EXPECT_EQ(tagged(5), " 0-1 1");
}

// transformers' aggregate_overlapping_entities: the longer tag, of equally long ones the better.
TEST(Tags, OfWindowsDoNotOverlap) {
  const std::string text = "\u00e4\u00e4 bb cccc dd";  // two characters are four bytes
  const auto merged = [&](const std::vector<Tag>& tags) {
    return shown(without_overlaps(text, tags));
  };
  EXPECT_EQ(merged({{"A", 0.5, {0, 4}}, {"B", 0.25, {8, 12}}, {"C", 0.75, {8, 12}}}),
            "A 0-4 0.5; C 8-12 0.75");
  EXPECT_EQ(merged({{"A", 0.9, {8, 12}}, {"B", 0.1, {5, 12}}}), "B 5-12 0.1");
  EXPECT_EQ(merged({{"A", 0.9, {0, 4}}, {"B", 0.1, {2, 7}}}), "B 2-7 0.1");  // 2 and 4 characters
  EXPECT_EQ(merged({{"A", 0.5, {5, 7}}, {"B", 0.5, {5, 7}}}), "A 5-7 0.5");
  EXPECT_EQ(merged({{"A", 0.5, {5, 7}}, {"B", 0.5, {7, 8}}}), "A 5-7 0.5; B 7-8 0.5");
  EXPECT_EQ(merged({}), "");
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

Json config(const std::string& text) {
  return parse_json(text, "config.json");
}

TEST(Labels, StandInTheOrderOfTheirNumbers) {
  const Json numbers = config(R"({"id2label": {"1": "b", "10": "k", "0": "a", "2": "c", "3": "d",
      "4": "e", "5": "f", "6": "g", "7": "h", "8": "i", "9": "a"},
      "label2id": {"a": 9, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "g": 6, "h": 7, "i": 8, "k": 10},
      "num_labels": 11})");
  EXPECT_EQ(read_labels(numbers),
            (std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i", "a", "k"}));
  EXPECT_EQ(read_labels(config("{}")), (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(read_labels(config(R"({"num_labels": 1})")), (std::vector<std::string>{"LABEL_0"}));
}

TEST(Labels, MayBeNumbersOrTrueAndFalse) {
  EXPECT_EQ(read_labels(config(R"({"id2label": {"0": 7, "1": -3, "2": 1.5, "3": "x"}})")),
            (std::vector<std::string>{"7", "-3", "1.5", "x"}));
  EXPECT_EQ(read_labels(config(R"({"id2label": {"0": false, "1": true}})")),
            (std::vector<std::string>{"False", "True"}));
}

// transformers follows id2label.
TEST(Labels, ThatContradictEachOtherAreWarnings) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("num_labels": 3)", "num_labels: must be 2,...got 3"},
      {R"("num_labels": "2")", "num_labels: must be an integer, got the text '2'"},
      {R"("label2id": {"a": 1, "b": 0})", "label2id.a...got 1, which is 'b'"},
      {R"("label2id": {"a": 0})", "label2id: ...got none for 'b'"},
      {R"("label2id": {})", "label2id: ...got none for 'a'"},
      {R"("label2id": {"a": 5, "b": 1})", "label2id.a...got 5"},
      {R"("label2id": {"a": "0", "b": "1"})", "label2id.a...text '0'"}};
  for (const auto& [key, words] : cases) {
    const Json json = config(R"({"id2label": {"0": "a", "1": "b"}, )" + key + "}");
    const std::vector<std::string> labels = read_labels(json);
    EXPECT_EQ(labels, (std::vector<std::string>{"a", "b"}));
    const std::vector<std::string> warnings = label_warnings(json, labels);
    ASSERT_EQ(warnings.size(), 1U) << key;
    test::expect_refused([&] { throw std::runtime_error(warnings[0]); },
                         "config.json: " + words + "...; the names are those in id2label");
  }
  const Json fits = config(R"({"id2label": {"0": 7}, "label2id": {"7": 0}, "num_labels": 1})");
  EXPECT_TRUE(label_warnings(fits, read_labels(fits)).empty());
  const Json none = config(R"({"label2id": {"a": 5}, "num_labels": 4})");
  EXPECT_TRUE(label_warnings(none, read_labels(none)).empty());
}

TEST(Labels, WithGapsAreErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"id2label": {"0": "a", "2": "b"}})",
       "id2label.2...class number must be from 0 to 1, got 2"},
      {R"({"id2label": {"1": "a", "2": "b"}})", "id2label.2...got 2"},
      {R"({"id2label": {"0": "a", "x": "b"}})", "id2label.x...key must be a class number...'x'"},
      {R"({"id2label": {"0": "a", "01": "b"}})", "'01'"},
      {R"({"id2label": {"0": "a", "-1": "b"}})", "'-1'"},
      {R"({"id2label": {"99999999999999999999": "a"}})", "'99999999999999999999'"},
      {R"({"id2label": {"0": "a", "": "b"}})", "key must be a class number"},
      {R"({"id2label": {}})", "id2label...at least one label"},
      {R"({"id2label": ["a"]})", "id2label...a list"},
      {R"({"id2label": "a"})", "id2label...an object"},
      {R"({"id2label": {"0": "a"}, "label2id": [0]})", "label2id...a list"},
      {R"({"id2label": {"0": null}})", "id2label.0...must be a text, got null"},
      {R"({"id2label": {"0": ["a"]}})", "id2label.0...must be a text, got a list"},
      {R"({"num_labels": -1})", "num_labels...-1"},
      {R"({"num_labels": 100001})", "num_labels...100001"},
      {R"({"id2label": {"0": "a", "x\ny": "b"}})", R"('x\x0ay')"},
  };
  for (const auto& [text, words] : cases) {
    test::expect_refused([&json = text] { read_labels(config(json)); }, "config.json: ..." + words);
  }
}

TEST(Labels, AreAsManyAsTheClassifierHasRows) {
  const Json named = config(R"({"id2label": {"0": "a", "1": "b", "2": "c"}})");
  EXPECT_NO_THROW(check_label_count(named, read_labels(named), 3));
  EXPECT_THROW(check_label_count(named, read_labels(named), 2), std::runtime_error);
  EXPECT_THROW(check_label_count(config("{}"), read_labels(config("{}")), 3), std::runtime_error);
}

TEST(Labels, ScoringFollowsTheProblem) {
  const Json none = config("{}");
  EXPECT_EQ(text_scoring(none, 1), Scoring::kSigmoid);
  EXPECT_EQ(text_scoring(none, 2), Scoring::kSoftmax);
  EXPECT_EQ(text_scoring(config(R"({"problem_type": null})"), 2), Scoring::kSoftmax);
  EXPECT_EQ(text_scoring(config(R"({"problem_type": "regression"})"), 1), Scoring::kNone);
  const Json single = config(R"({"problem_type": "single_label_classification"})");
  EXPECT_EQ(text_scoring(single, 3), Scoring::kSoftmax);
  EXPECT_EQ(text_scoring(single, 1), Scoring::kSigmoid);
  const Json multi = config(R"({"problem_type": "multi_label_classification"})");
  EXPECT_EQ(text_scoring(multi, 3), Scoring::kSigmoid);
  EXPECT_THROW(text_scoring(config(R"({"problem_type": "ranking"})"), 3), std::runtime_error);
}

TEST(Labels, ScoringOfPairsFollowsTheActivation) {
  const auto with = [](const std::string& now, const std::string& before) {
    return config("{\"sentence_transformers\": {\"activation_fn\": " + now +
                  "}, \"sbert_ce_default_activation_function\": " + before + "}");
  };
  const std::string identity = "\"torch.nn.modules.linear.Identity\"";
  const std::string sigmoid = "\"torch.nn.modules.activation.Sigmoid\"";
  EXPECT_EQ(pair_scoring(config("{}"), 1), Scoring::kSigmoid);
  EXPECT_EQ(pair_scoring(config("{}"), 3), Scoring::kNone);
  EXPECT_EQ(pair_scoring(with("null", "null"), 1), Scoring::kSigmoid);
  EXPECT_EQ(pair_scoring(with("null", identity), 1), Scoring::kNone);
  EXPECT_EQ(pair_scoring(with(sigmoid, identity), 3), Scoring::kSigmoid);
  const std::string softmax = "\"torch.nn.modules.activation.Softmax\"";
  EXPECT_EQ(pair_scoring(with(softmax, identity), 3), Scoring::kSoftmax);
  // sentence-transformers does not use functions of the folder itself.
  EXPECT_THROW(pair_scoring(with("\"my.Sigmoid\"", identity), 1), std::runtime_error);
  EXPECT_THROW(pair_scoring(with("\"torch.Tanh\"", identity), 1), std::runtime_error);
  EXPECT_THROW(pair_scoring(with("3", identity), 1), std::runtime_error);
}

TEST(Labels, ScoresAreOfEachText) {
  const Tensor logits = tensor({{0.0F, 0.0F}, {0.0F, 40.0F}});
  EXPECT_TRUE(test::same_bits(scored(Scoring::kNone, logits), logits));
  EXPECT_EQ(scored(Scoring::kSigmoid, logits).to_vector<float>(),
            (std::vector<float>{0.5F, 0.5F, 0.5F, 1.0F}));
  const auto shares = scored(Scoring::kSoftmax, logits).to_vector<float>();
  EXPECT_EQ(shares[0], 0.5F);
  EXPECT_EQ(shares[3], 1.0F);
}

}  // namespace
}  // namespace tessera::models
