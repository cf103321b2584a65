// What the classifier is measured by and held against.
#include <gtest/gtest.h>

#include <sstream>

#include "examples/programs/confusion.h"
#include "examples/programs/word_pairs.h"
#include "tests/support/errors.h"

namespace tessera::examples {
namespace {

using test::throws;
using text::Example;

std::vector<Example> labelled(const std::vector<index_t>& labels) {
  std::vector<Example> examples;
  for (const index_t label : labels) examples.push_back({{4}, label});
  return examples;
}

TEST(Confusion, CountsAccuracyAndF1) {
  // Class 3 is neither label nor answer; sklearn.metrics.f1_score says 0.5, 0.8 and 0 of the others.
  const std::vector<index_t> answers = {0, 1, 1, 1, 0};
  const Confusion counts(labelled({0, 0, 1, 1, 2}), answers, 4);
  EXPECT_DOUBLE_EQ(counts.accuracy(), 0.6);
  EXPECT_DOUBLE_EQ(counts.macro_f1(), (0.5 + 0.8 + 0) / 3);
  std::ostringstream table;
  counts.print(table, {"a", "b", "c", "d"});
  EXPECT_NE(table.str().find("\n     a     1     1     0     0\n     b     0     2     0     0\n"),
            std::string::npos)
      << table.str();
}

TEST(Confusion, RefusesOtherClasses) {
  const std::vector<index_t> answers = {0, 2};
  EXPECT_TRUE(throws("Confusion", {"class must be from 0 to 1, got 2"}, [&] {
    Confusion(labelled({0, 1}), answers, 2);
  }));
  EXPECT_TRUE(throws("Confusion", {"number of answers must be that of examples, 1, got 2"},
                     [&] { Confusion(labelled({0}), answers, 3); }));
}

// Both words occur in both classes: their order alone, a pair, tells the class.
TEST(WordPairs, LearnsWhatPairsTell) {
  const std::vector<Example> train = {{{4, 5}, 0}, {{5, 4}, 1}, {{6, 4, 5}, 0}, {{6, 5, 4}, 1}};
  const std::vector<Example> tested = {{{7, 5, 4}}, {{7, 4, 5}}, {{4, 5, 8, 8}}};
  EXPECT_EQ(word_pair_answers(train, tested, 2), (std::vector<index_t>{1, 0, 0}));
  EXPECT_EQ(word_pair_answers(train, std::vector<Example>{{{}}}, 2).size(), 1U);
}

TEST(WordPairs, RefusesWhatItCannotLearn) {
  const char* const kOp = "word_pair_answers";
  const std::vector<Example> none;
  EXPECT_TRUE(throws("BatchSampler", {"no examples"}, [&] { word_pair_answers(none, none, 2); }));
  EXPECT_TRUE(throws(kOp, {"label must be from 0 to 1, got 2"},
                     [&] { word_pair_answers(labelled({2}), none, 2); }));
  EXPECT_TRUE(throws(kOp, {"must be at most 16777216, got 1 x"},
                     [&] { word_pair_answers(labelled({0}), none, index_t{1} << 40); }));
}

}  // namespace
}  // namespace tessera::examples
