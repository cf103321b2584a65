#include <tessera/nn/loss.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

/// The library's mean loss of examples with these counts, if the scores are the logarithms of the
/// shares.
double loss_of_the_fractions(const std::vector<index_t>& counts) {
  std::vector<double> scores;
  std::vector<index_t> answers;
  for (std::size_t c = 0; c < counts.size(); ++c) {
    answers.insert(answers.end(), static_cast<std::size_t>(counts[c]), static_cast<index_t>(c));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (const index_t count : counts) scores.push_back(std::log(static_cast<double>(count)));
  }
  const Tensor logits = from_vector(scores, {std::ssize(answers), std::ssize(counts)});
  return nn::cross_entropy(logits, from_vector(answers)).item();
}

void the_baseline_is_an_entropy() {
  const double log2 = std::log(2.0), log3 = std::log(3.0);
  expect_close(
      "baseline_loss of 30 no and 10 yes", baseline_loss({30, 10}), 2 * log2 - 0.75 * log3,
      {{log2, "this is the loss of equal guesses; weight each class by its fraction"},
       {2 - 0.75 * std::log2(3.0), "this is the logarithm to base 2"},
       {2 * log2 - log3, "this is -log of the largest fraction; add over all classes"},
       {(2 * log2 - log3 + 2 * log2) / 2, "all classes count alike; weight -log p_c by p_c"},
       {NAN, "the fractions are quotients of integers, which are 0; convert to double first"},
       {40 * (2 * log2 - 0.75 * log3),
        "this is the sum of the losses; divide it by the number of answers"}});
  expect_close("baseline_loss with a class without answers", baseline_loss({0, 5, 5}), log2,
               {{NAN, "0 times log 0 is NaN on a computer; leave out empty classes"}});
  const std::vector<index_t> counts = {7, 1, 12};
  expect_close("baseline_loss of three classes", baseline_loss(counts),
               loss_of_the_fractions(counts));
}

std::vector<Exercise> all_exercises() {
  return {
      {"014.1 baseline_loss",
       "a fraction is a count divided by all counts; each class adds -p log p",
       the_baseline_is_an_entropy},
  };
}

}  // namespace tessera::exercises::checks
