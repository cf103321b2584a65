// explain: its rows add up, it names classes, and it refuses what has no answer.
#include "tessera/models/hugging_face/text_classifier.h"
#include "tests/programs/model_folders.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using ExplainProgram = Programs;

struct Explained {
  double score, baseline, error, sum;
  int tokens, heads;
};

/// The texts of an output of explain.
std::vector<Explained> explained(const std::string& output) {
  std::vector<Explained> texts;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    Explained text = {};
    const std::size_t at = line.find(": score ");
    if (at != std::string::npos) {
      EXPECT_EQ(std::sscanf(line.c_str() + at, ": score %lf, of the baseline %lf, error %lf",
                            &text.score, &text.baseline, &text.error),
                3);
      texts.push_back(text);
    } else if (line.starts_with("without")) {
      continue;
    } else if (!texts.empty() && contains(line, "\tlayer ")) {
      ++texts.back().heads;
    } else if (!texts.empty()) {
      texts.back().sum += std::stod(line);
      ++texts.back().tokens;
    }
  }
  return texts;
}

/// The model's own score of its most probable class.
double probability_of(const std::string& folder, const std::string& text) {
  const auto model = models::load_text_classifier(golden_folder(folder));
  return model(std::vector{text})[0][0].score;
}

void expect_adds_up(const Explained& text) {
  EXPECT_NEAR(text.sum - text.error, text.score - text.baseline, 1e-3);
  EXPECT_LT(std::abs(text.error), 0.01 * std::abs(text.score - text.baseline) + 1e-3);
  EXPECT_GE(text.heads, 2);
}

TEST_F(ExplainProgram, SaysWhatEachTokenAddsToAClass) {
  const std::string bert = with_model("bert");
  const std::string output = output_of("explain", bert + "--text 'the cat sat' --output why.html");
  const std::vector<Explained> texts = explained(output);
  ASSERT_EQ(texts.size(), 1U);
  expect_adds_up(texts[0]);
  EXPECT_EQ(texts[0].tokens, 5);
  EXPECT_TRUE(output.starts_with("logit of ")) << output;
  EXPECT_TRUE(
      contains(file_text(folder_ / "why.html"), "<section><h2>\u201cthe cat sat\u201d</h2>"));
  double probability = 0, of_baseline = 0;
  const std::string printed = output.substr(output.find(", probability "));
  ASSERT_EQ(std::sscanf(printed.c_str(), ", probability %lf, of the baseline %lf", &probability,
                        &of_baseline),
            2);
  EXPECT_NEAR(probability, probability_of("bert", "the cat sat"), 1e-4);
  EXPECT_NE(probability, of_baseline);
  // The same on any number of threads; another class by its name.
  EXPECT_EQ(output_of("explain", bert + "--text 'the cat sat' --threads 1"), output);
  EXPECT_TRUE(output_of("explain", bert + "--text 'the cat sat' --class I-LOC")
                  .starts_with("logit of I-LOC\n"));
}

TEST_F(ExplainProgram, ComparesTwoTexts) {
  const std::string output =
      output_of("explain", with_model("sentence", "--text 'the cat sat' --with 'a cat'"));
  const std::vector<Explained> texts = explained(output);
  ASSERT_EQ(texts.size(), 2U);
  for (const Explained& text : texts) expect_adds_up(text);
  EXPECT_NEAR(texts[0].score, texts[1].score, 1e-4);
}

TEST_F(ExplainProgram, ExplainsAPairOfACrossEncoder) {
  const std::string output =
      output_of("explain", with_model("reranker", "--text cat --with 'the cat'"));
  const std::vector<Explained> texts = explained(output);
  ASSERT_EQ(texts.size(), 1U);
  expect_adds_up(texts[0]);
  EXPECT_TRUE(contains(output, "the pair: score ")) << output;
}

TEST_F(ExplainProgram, Errors) {
  expect_fails("explain", {{with_model("bert", "--text cat --class X"),
                            "--class must be one of O, B-PER, I-PER, B-LOC, I-LOC, got 'X'"},
                           {with_model("sentence", "--text a --with b --class O"), "got --class"},
                           {with_model("sentence", "--text a"), "--with must be given"},
                           {with_model("static", "--text a --with b"),
                            "--model must be a transformer, got static embeddings"},
                           {with_model("bert"), "--text is required"},
                           {with_model("bert", "--text cat --points 1"), "--points"}});
}

}  // namespace
}  // namespace tessera::test
