#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void scores_are_divided_by_the_root() {
  const Matrix q = {{2, 0, 0, 2}};
  const Matrix k = {{1, 5, 5, 2}, {0, 1, 1, 4}};
  expect_close("scaled_scores of width 4", scaled_scores(q, k), {{3, 4}},
               {{{{1.5, 2}}, "the dot products are divided by d = 4; divide by its square root"},
                {{{6, 8}}, "the dot products are not divided by the square root of d"},
                {{{6 / std::sqrt(2), 8 / std::sqrt(2)}},
                 "the square root is of the number of keys; take that of the width, q.columns()"}});
  const Tensor a = randn({2, 5}, kFloat64), b = randn({3, 5}, kFloat64);
  expect_close("scaled_scores of 2 queries and 3 keys", scaled_scores(a, b),
               matmul(a, b.t()) / std::sqrt(5.0));
}

void rows_add_up_to_1() {
  const double ln2 = std::log(2.0);
  expect_close("weights_of {{0, log 2}, {log 2, log 2}}", weights_of({{0, ln2}, {ln2, ln2}}),
               {{1 / 3., 2 / 3.}, {0.5, 0.5}},
               {{{{1 / 3., 0.5}, {2 / 3., 0.5}},
                 "each column adds up to 1; a query divides its own row, so each row must"},
                {{{1 / 7., 2 / 7.}, {2 / 7., 2 / 7.}},
                 "all weights together add up to 1; each row must, by itself"},
                {{{1 / 3., 2 / 3.}, {2 / 7., 2 / 7.}},
                 "the sum goes on from the row before; begin each row with 0"}});
  const Tensor scores = randn({3, 4}, kFloat64);
  expect_close("weights_of random scores", weights_of(scores), softmax(scores));
}

void the_head_is_the_librarys() {
  const Matrix x = {{1, 0}, {0, 1}};  // so that each weight is its own product with x
  const Matrix q = {{0, 1}, {0, 0}}, k = {{1, 0}, {0, 3}}, v = {{1, 2}, {3, 4}};
  const auto attend = [](const Tensor& queries, const Tensor& keys, const Tensor& values) {
    return attention(queries, keys, values).output;
  };
  expect_close(
      "head of two tokens", head(x, q, k, v), attend(q, k, v),
      {{attend(q, k, k), "the weights mix keys; they must mix values, x W_V"},
       {attend(k, q, v), "queries and keys are exchanged; row i of the scores is query i's"}});
  const Tensor y = randn({4, 5}, kFloat64), a = randn({5, 3}, kFloat64),
               b = randn({5, 3}, kFloat64), c = randn({5, 3}, kFloat64);
  expect_close("head of random numbers", head(y, a, b, c),
               attend(matmul(y, a), matmul(y, b), matmul(y, c)));
}

std::vector<Exercise> all_exercises() {
  return {
      {"002.1 scaled_scores", "query i is row i of q, key j is row j of k: neither is a column",
       scores_are_divided_by_the_root},
      {"002.2 weights_of", "first add up exp(score) over a row, then divide each by the sum",
       rows_add_up_to_1},
      {"002.3 head", "three products with x, then 002.1, 002.2, and weights times values",
       the_head_is_the_librarys},
  };
}

}  // namespace tessera::exercises::checks
