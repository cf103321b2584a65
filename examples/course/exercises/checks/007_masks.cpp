#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

AttentionMask mask_of(const Matrix& keep) {
  return keep_mask(Tensor(keep).to(kBool));
}

void packed_sequences_do_not_meet() {
  expect_close(
      "packed_keep({2, 1})", packed_keep({2, 1}), {{1, 1, 0}, {1, 1, 0}, {0, 0, 1}},
      {{{{1, 0, 0}, {1, 1, 0}, {0, 0, 1}},
        "this mask is causal too: tokens of a sequence see later ones"},
       {{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, "tokens of two sequences see each other"},
       {{{0, 0, 1}, {0, 0, 1}, {1, 1, 0}}, "1 is kept and 0 is masked: these are reversed"}});
  expect_close("packed_keep({1, 0, 2})", packed_keep({1, 0, 2}), {{1, 0, 0}, {0, 1, 1}, {0, 1, 1}});
  const Tensor a = randn({3, 4}, kFloat64), b = randn({2, 4}, kFloat64);
  const Tensor both = concat({a, b});
  const Tensor packed = attention(both, both, both, mask_of(packed_keep({3, 2}))).output;
  expect_close("attention of two packed sequences", packed,
               concat({attention(a, a, a).output, attention(b, b, b).output}));
}

void the_softmax_is_the_librarys() {
  const double nan = std::nan("");
  const double all = 1 / (2 + std::exp(8));  // the weight of 1 if no key is masked
  expect_close("masked_softmax of {{1, 1, 9}}, the last one masked",
               masked_softmax({{1, 1, 9}}, {{1, 1, 0}}), {{0.5, 0.5, 0}},
               {{{{all, all, 0}}, "the sum is over the kept keys only"}});
  expect_close("masked_softmax with NaN and infinity masked",
               masked_softmax({{nan, 2, INFINITY}}, {{0, 1, 0}}), {{0, 1, 0}},
               {{{{nan, nan, nan}}, "0 times NaN is NaN: leave masked scores out"}});
  expect_close("masked_softmax of scores near 1000", masked_softmax({{1000, 1000}}, {{1, 1}}),
               {{0.5, 0.5}},
               {{{{nan, nan}}, "exp(1000) is infinite: subtract the row's largest kept score"}});
  expect_close("masked_softmax of a row without a kept key", masked_softmax({{1, 2}}, {{0, 0}}),
               {{0, 0}}, {{{{nan, nan}}, "0 / 0 is NaN: a row without a kept key stays zeros"}});
  const Matrix keep = {{1, 0, 1, 1}, {0, 0, 0, 0}, {0, 1, 1, 0}, {1, 1, 1, 1}};
  const Tensor q = randn({4, 4}, kFloat64), k = randn({4, 4}, kFloat64);
  expect_close(
      "masked_softmax compared with attention's weights", masked_softmax(matmul(q, k.t()), keep),
      attention(q, k, k, mask_of(keep), {.scale = 1, .need_weights = AttentionRequest{}}).weights);
}

void the_mask_is_longformers() {
  expect_close("global_and_window(4, 0, {})", global_and_window(4, 0, {}),
               {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}});
  expect_close(
      "global_and_window(5, 1, {0})", global_and_window(5, 1, {0}),
      {{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}, {1, 1, 1, 1, 0}, {1, 0, 1, 1, 1}, {1, 0, 0, 1, 1}},
      {{{{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}, {0, 1, 1, 1, 0}, {0, 0, 1, 1, 1}, {0, 0, 0, 1, 1}},
        "all see a global token: its column is ones too"},
       {{{1, 1, 0, 0, 0}, {1, 1, 1, 0, 0}, {1, 1, 1, 1, 0}, {1, 0, 1, 1, 1}, {1, 0, 0, 1, 1}},
        "a global token sees all: its row is ones too"}});
  expect_close("global_and_window(4, 0, {3, 1})", global_and_window(4, 0, {3, 1}),
               {{1, 1, 0, 1}, {1, 1, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}});
}

std::vector<Exercise> all_exercises() {
  return {
      {"007.1 packed_keep", "a sequence begins where the one before it ends; a length may be 0",
       packed_sequences_do_not_meet},
      {"007.2 masked_softmax",
       "a masked score may not be touched at all: NaN stays NaN in max, in exp and in 0 * NaN",
       the_softmax_is_the_librarys},
      {"007.3 global_and_window", "a global token's row and its column are all ones",
       the_mask_is_longformers},
  };
}

}  // namespace tessera::exercises::checks
