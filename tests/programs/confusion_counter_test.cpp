// The confusion matrix, and the figures that follow from it.
#include "examples/programs/confusion_counter.h"

#include "tessera/tensor/create.h"
#include "tests/support/test.h"

namespace tessera::examples {
namespace {

using namespace test;

/// Scores (N, C) with the largest of each row at the answer.
Tensor scores_for(const std::vector<index_t>& answers, index_t classes) {
  Tensor scores = zeros({std::ssize(answers), classes});
  for (std::size_t i = 0; i < answers.size(); ++i) {
    scores.select(0, static_cast<index_t>(i)).select(0, answers[i]).fill(1);
  }
  return scores;
}

TEST(ConfusionCounter, CountsAccuracyAndF1) {
  // Class 3 is neither label nor answer; sklearn.metrics.f1_score gives 0.5, 0.8 and 0 for the
  // others.
  ConfusionCounter counts({"a", "b", "c", "d"});
  counts.add(from_vector(std::vector<index_t>{0, 0, 1, -1}), scores_for({0, 1, 1, 0}, 4));
  counts.add(from_vector(std::vector<index_t>{1, 2}), scores_for({1, 0}, 4));
  EXPECT_DOUBLE_EQ(counts.accuracy(), 0.6);
  EXPECT_DOUBLE_EQ(counts.macro_f1(), (0.5 + 0.8 + 0) / 3);
  EXPECT_TRUE(contains(counts.table(), "\n   a  b  c  d\na  1  1  0  0\nb  0  2  0  0\n"));
}

TEST(ConfusionCounter, RefusesOtherClasses) {
  const Tensor labels = from_vector(std::vector<index_t>{0, 1});
  ConfusionCounter counts({"a", "b"});
  EXPECT_TRUE(throws("ConfusionCounter", {"class must be from 0 to 1, got 2"}, [&] {
    counts.add(labels, scores_for({0, 2}, 3));
  }));
  EXPECT_TRUE(throws("ConfusionCounter", {"number of answers must be 2, that of labels, got 1"},
                     [&] { counts.add(labels, scores_for({0}, 3)); }));
}

}  // namespace
}  // namespace tessera::examples
