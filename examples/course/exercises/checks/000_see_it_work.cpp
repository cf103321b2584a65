#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void the_weights_are_at_the_other_end() {
  expect_close("backwards_weights(3)", backwards_weights(3), {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}},
               {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                 "each position attends to itself; position i must attend to position T - 1 - i"}});
  expect_close("backwards_weights(1)", backwards_weights(1), {{1}});
}

void attention_is_a_product() {
  const Matrix weights = {{0, 1}, {0.5, 0.5}};
  const Matrix values = {{2, 4}, {10, 20}};
  expect_close("attended", attended(weights, values), {{10, 20}, {6, 12}},
               {{{{5, 10}, {7, 14}},
                 "the weights are read by columns; row i of the weights belongs to position i"},
                {{{0, 0}, {5, 10}}, "each position takes only its own value; add over all j"}});
  const Tensor w = randn({4, 4}, kFloat64), v = randn({4, 3}, kFloat64);
  expect_close("attended of random numbers", attended(w, v), matmul(w, v));
}

void the_weight_is_a_mean() {
  const Matrix weights = {{0.1, 0.9}, {0.6, 0.4}};
  expect_close("weight_on_anti_diagonal of {{0.1, 0.9}, {0.6, 0.4}}",
               weight_on_anti_diagonal(weights), 0.75,
               {{0.25, "this is the main diagonal; the anti-diagonal starts in the upper right"},
                {1.5, "this is the sum; divide it by the number of positions"}});
  expect_close("weight_on_anti_diagonal of perfect weights",
               weight_on_anti_diagonal({{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}), 1);
}

std::vector<Exercise> all_exercises() {
  return {
      {"000.1 backwards_weights", "positions are counted from 0, so the last one is T - 1, not T",
       the_weights_are_at_the_other_end},
      {"000.2 attended", "this is the product of two matrices: weights times values",
       attention_is_a_product},
      {"000.3 weight_on_anti_diagonal",
       "row i of the anti-diagonal has its weight in column T - 1 - i", the_weight_is_a_mean},
  };
}

}  // namespace tessera::exercises::checks
