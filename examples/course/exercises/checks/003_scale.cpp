#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void entropy_is_between_0_and_log_n() {
  const double log2 = std::log(2.0);
  expect_close("entropies of four equal weights", entropies({{0.25, 0.25, 0.25, 0.25}}),
               {{2 * log2}},
               {{{{2}}, "this is the logarithm to base 2; std::log is the natural one"},
                {{{-2 * log2}}, "the logarithm of a weight is negative: the sum needs a minus"}});
  expect_close("entropies with weights of 0", entropies({{1, 0}, {0.5, 0.5}}), {{0}, {log2}},
               {{{{NAN}, {log2}}, "0 times log 0 is NaN on a computer; leave out weights of 0"}});
}

void the_softmax_bears_large_scores() {
  expect_close("safe_softmax of {{1000, 1000}, {0, 0}}", safe_softmax({{1000, 1000}, {0, 0}}),
               {{0.5, 0.5}, {0.5, 0.5}},
               {{{{NAN, NAN}, {0.5, 0.5}},
                 "exp(1000) is infinite; subtract the row's largest score before exp"},
                {{{0.5, 0.5}, {NAN, NAN}},
                 "the largest of all scores is subtracted; each row must use its own"}});
  const Tensor scores = randn({3, 4}, kFloat64) * 30.0;
  expect_close("safe_softmax of random scores", safe_softmax(scores), softmax(scores));
}

void the_jacobian_is_the_tapes() {
  expect_close(
      "jacobian of {{0.5, 0.5}}", jacobian({{0.5, 0.5}}), {{0.25, -0.25}, {-0.25, 0.25}},
      {{{{0.25, 0}, {0, 0.25}}, "a score moves the other weights too: -w_i w_j off the diagonal"},
       {{{-0.25, 0.25}, {0.25, -0.25}},
        "the signs are reversed: a weight grows with its own score"}});
  const Tensor scores = tensor({0.3, -1.0, 2.0, 0.5}, kFloat64);
  std::vector<Tensor> gradients;
  for (index_t i = 0; i < 4; ++i) {
    const Tensor x = scores.clone().set_requires_grad();
    Tape tape;
    tape.backward(softmax(x).select(0, i));
    gradients.push_back(x.grad());
  }
  expect_close("jacobian of four weights", jacobian(softmax(scores)), stack(gradients));
}

std::vector<Exercise> all_exercises() {
  return {
      {"003.1 entropies", "one number a row: minus the sum of w log w",
       entropy_is_between_0_and_log_n},
      {"003.2 safe_softmax", "find the row's largest score, then the sum, then divide",
       the_softmax_bears_large_scores},
      {"003.3 jacobian", "w_i (1 - w_i) on the diagonal, -w_i w_j elsewhere",
       the_jacobian_is_the_tapes},
  };
}

}  // namespace tessera::exercises::checks
