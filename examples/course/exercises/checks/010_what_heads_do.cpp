#include <tessera/models/inspect/attention_flow.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void fractions_are_by_norm() {
  expect_close("value_fractions with a value of 0",
               value_fractions({{0.9, 0.1}, {0.5, 0.5}}, {{0}, {2}}, {{1}}), {{0, 1}, {0, 1}},
               {{{{0, 0.2}, {0, 1}}, "divide each row by its sum"}});
  expect_close("value_fractions with a W_O that stretches",
               value_fractions({{0.5, 0.5}}, {{1, 0}, {0, 1}}, {{3, 0}, {0, 1}}), {{0.75, 0.25}},
               {{{{0.5, 0.5}}, "the norm is that of W_O v, not of v"}});
  expect_close(
      "value_fractions with a negative value", value_fractions({{0.5, 0.5}}, {{-1}, {3}}, {{2}}),
      {{0.25, 0.75}},
      {{{{-0.5, 1.5}}, "a norm is the square root of the sum of the squares, never negative"}});
  const Tensor weights = softmax(randn({4, 4}, kFloat64), -1);
  const Tensor values = randn({4, 3}, kFloat64), w_o = randn({6, 3}, kFloat64);
  const Tensor moved =
      inspect::norm_weighted_attention(weights.unsqueeze(0).unsqueeze(0), values.unsqueeze(0), w_o);
  expect_close("value_fractions of random rows", value_fractions(weights, values, w_o),
               moved / sum(moved, {3}, true));
}

void parts_add_up() {
  expect_close("part_of_head, head 1 of 2", part_of_head({{1, 10}}, {{1, 2}, {3, 4}}, 1, 2),
               {{20, 40}},
               {{{{10, 30}}, "the head's columns of W_O are its own too"},
                {{{2, 4}}, "the head's columns of its input begin at head * d"}});
  const Tensor heads = randn({3, 6}, kFloat64), w_o = randn({6, 6}, kFloat64);
  Tensor total = zeros({3, 6}, kFloat64);
  for (index_t head = 0; head < 3; ++head) {
    total = total + Tensor(part_of_head(heads, w_o, head, 3));
  }
  expect_close("part_of_head: the parts of three heads together are heads W_O^T", total,
               linear(heads, w_o));
}

void layers_follow_each_other() {
  expect_close("rollout of one layer", rollout({Matrix{{0, 1}, {1, 0}}}), {{0.5, 0.5}, {0.5, 0.5}},
               {{{{0, 1}, {1, 0}}, "half of each token stays where it is: (A + I) / 2"}});
  expect_close("rollout of two layers", rollout({Matrix{{0, 1}, {0, 1}}, Matrix{{1, 0}, {1, 0}}}),
               {{0.5, 0.5}, {0.25, 0.75}},
               {{{{0.75, 0.25}, {0.5, 0.5}}, "each layer is multiplied from the left"}});
  std::vector<Tensor> tensors;
  std::vector<Matrix> layers;
  for (int layer = 0; layer < 3; ++layer) {
    tensors.push_back(softmax(randn({1, 1, 4, 4}, kFloat64), -1));
    layers.push_back(tensors.back());
  }
  expect_close("rollout of three layers", rollout(layers), inspect::attention_rollout(tensors));
}

std::vector<Exercise> all_exercises() {
  return {
      {"010.1 value_fractions",
       "first y = W_O v_j, then its norm, times a_ij; then divide each "
       "row by its sum",
       fractions_are_by_norm},
      {"010.2 part_of_head", "sum heads(i, c) * w_o(r, c) over the head's columns c only",
       parts_add_up},
      {"010.3 rollout",
       "begin with the identity; each layer's (A + I) / 2 is multiplied from the left",
       layers_follow_each_other},
  };
}

}  // namespace tessera::exercises::checks
