#include <tessera/nn/attention.h>
#include <tessera/nn/module.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void a_head_has_neighbours() {
  const Matrix x = {{1, 2, 3, 4, 5, 6}};
  expect_close("columns_of_head(x, 1, 3)", columns_of_head(x, 1, 3), {{3, 4}},
               {{{{2, 5}}, "these are every third column; a head's columns are neighbours"},
                {{{4, 5, 6}}, "d is D / heads = 2, not the number of heads"}});
  expect_close("columns_of_head(x, 0, 2)", columns_of_head(x, 0, 2), {{1, 2, 3}});
  expect_close("columns_of_head(x, 5, 6)", columns_of_head(x, 5, 6), {{6}});
}

void the_sum_is_the_product() {
  const std::vector<Matrix> heads = {{{1}}, {{10}}};
  expect_close("combined of two heads of width 1", combined(heads, {{1, 2}, {3, 4}}), {{31, 42}},
               {{{{21, 43}}, "W^O is transposed: number c of a head goes with ROW c of its part"},
                {{{11, 22}}, "all heads use head 0's rows of W^O; head h has rows of its own"}});
  const Tensor a = randn({3, 2}, kFloat64), b = randn({3, 2}, kFloat64),
               w = randn({4, 4}, kFloat64);
  expect_close("combined of random numbers", combined({a, b}, w), matmul(concat({a, b}, 1), w));
}

void heads_cost_nothing() {
  for (const index_t heads : {1, 2, 4}) {
    const nn::MultiHeadAttention module({.embed_dim = 8, .num_heads = heads});
    expect_close(str_cat("parameters_of_attention(8, ", heads, ")"),
                 parameters_of_attention(8, heads), nn::parameter_count(module),
                 {{heads * 3 * 72 + 72,
                   "each head has projections to D / heads numbers, not to D: all together make D"},
                  {216, "W^O and its bias are missing"},
                  {256, "each of the four products has a bias of D numbers"}});
  }
}

std::vector<Exercise> all_exercises() {
  return {
      {"004.1 columns_of_head", "the first column of head h is h d, with d = D / heads",
       a_head_has_neighbours},
      {"004.2 combined", "head h meets the rows h d to (h + 1) d - 1 of W^O",
       the_sum_is_the_product},
      {"004.3 parameters_of_attention", "four products (D, D), each with a bias (D)",
       heads_cost_nothing},
  };
}

}  // namespace tessera::exercises::checks
