#include "models/hugging_face/detail/heads.h"

#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

Json config(const std::string& text) {
  return parse_json(text, "config.json");
}

/// The error of reading the labels of this config, or an empty text.
std::string error_of(const std::string& text) {
  try {
    read_labels(config(text));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
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

TEST(Labels, WithGapsAndContradictionsAreErrors) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {R"({"id2label": {"0": "a", "2": "b"}})",
       {"id2label.2", "class number must be from 0 to 1, got 2"}},
      {R"({"id2label": {"1": "a", "2": "b"}})", {"id2label.2", "got 2"}},
      {R"({"id2label": {"0": "a", "x": "b"}})",
       {"id2label.x", "key must be a class number", "'x'"}},
      {R"({"id2label": {"0": "a", "01": "b"}})", {"'01'"}},
      {R"({"id2label": {"0": "a", "-1": "b"}})", {"'-1'"}},
      {R"({"id2label": {"99999999999999999999": "a"}})", {"'99999999999999999999'"}},
      {R"({"id2label": {"0": "a", "": "b"}})", {"key must be a class number"}},
      {R"({"id2label": {}})", {"id2label", "at least one label"}},
      {R"({"id2label": ["a"]})", {"id2label", "a list"}},
      {R"({"id2label": "a"})", {"id2label", "an object"}},
      {R"({"id2label": {"0": "a"}, "label2id": [0]})", {"label2id", "a list"}},
      {R"({"id2label": {"0": 7}})", {"id2label.0", "7"}},
      {R"({"id2label": {"0": "a"}, "num_labels": 2})", {"num_labels", "must be 1,", "got 2"}},
      {R"({"num_labels": -1})", {"num_labels", "-1"}},
      {R"({"num_labels": 100001})", {"num_labels", "100001"}},
      {R"({"id2label": {"0": "a", "1": "b"}, "label2id": {"a": 1, "b": 0}})",
       {"label2id.a", "got 1, which is 'b'"}},
      {R"({"id2label": {"0": "a", "1": "b"}, "label2id": {"a": 0}})",
       {"label2id", "got none for 'b'"}},
      {R"({"id2label": {"0": "a"}, "label2id": {"a": 5}})", {"label2id.a", "got 5"}},
      {R"({"id2label": {"0": "a"}, "label2id": {"a": "0"}})", {"label2id.a", "text '0'"}},
      {R"({"id2label": {"0": "a", "x\ny": "b"}})", {R"('x\x0ay')"}},
      {R"({"id2label": {"0": "a\nb"}, "label2id": {"a": 0}})", {R"('a\x0ab')"}},
      {R"({"id2label": {"0": "a\nb"}, "label2id": {}})", {R"(got none for 'a\x0ab')"}},
  };
  for (const auto& [text, parts] : cases) {
    const std::string error = error_of(text);
    EXPECT_TRUE(error.starts_with("config.json: ")) << text << " gave '" << error << "'";
    for (const std::string& part : parts) {
      EXPECT_TRUE(test::contains(error, part));
    }
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
  EXPECT_EQ(pair_scoring(with("\"Softmax\"", identity), 3), Scoring::kSoftmax);
  EXPECT_THROW(pair_scoring(with("\"my.Tanh\"", identity), 1), std::runtime_error);
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
