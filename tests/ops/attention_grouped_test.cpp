// Grouped heads give the bits of heads with copied keys and values; dk and dv are sums over the
// copies.

#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tessera/tensor/ops/unpad_rows.h"
#include "tests/support/attention_run.h"
#include "tests/support/digest.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionGroupedTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionGroupedTest, each_isa(), isa_name);

/// Each head of x (B, G, T, width) `group` times: (B, G group, T, width).
Tensor repeated(const Tensor& x, index_t group) {
  const Shape s = x.shape();
  return x.unsqueeze(2).expand({s[0], s[1], group, s[2], s[3]}).contiguous().flatten(1, 2);
}

/// The sums over the copies.
Tensor summed(const Tensor& x, index_t group) {
  return sum(x.unflatten(1, {x.size(1) / group, group}), {2});
}

/// Random inputs for `heads` heads in groups.
AttentionInputs grouped_inputs(AttentionSizes sizes, index_t group, DType dtype) {
  AttentionInputs x(sizes, dtype);
  x.k = x.k.slice(1, 0, sizes.heads / group).contiguous();
  x.v = x.v.slice(1, 0, sizes.heads / group).contiguous();
  return x;
}

TEST_P(AttentionGroupedTest, HasTheBitsOfCopies) {
  for (const index_t group : {2, 3, 6}) {
    for (const index_t tokens : {1, 4, 65, 131}) {
      for (index_t kinds = 0; kinds < 16; kinds += 3) {
        SCOPED_TRACE(str_cat("group ", group, ", ", tokens, " tokens, mask ", kinds));
        const AttentionSizes sizes = {2, 6, tokens, tokens + 3, 12, 7};
        const MaskParts mask = random_mask(kinds, sizes.scores(), 5);
        const AttentionOptions options = {.dropout = {.p = kinds == 9 ? 0.3 : 0, .key = 3}};
        for (const DType dtype : {kFloat32, kFloat64}) {
          const AttentionInputs x = grouped_inputs(sizes, group, dtype);
          AttentionInputs copies = x;
          copies.k = repeated(x.k, group);
          copies.v = repeated(x.v, group);
          const AttentionResults got = run_attention(x, mask, options);
          const AttentionResults want = run_attention(copies, mask, options);
          EXPECT_TRUE(same_bits(got.output, want.output));
          EXPECT_TRUE(same_bits(got.weights, want.weights));
          EXPECT_TRUE(same_bits(got.dq, want.dq));
          const double limit = dtype == kFloat32 ? 1e-5 : 1e-13;
          EXPECT_TRUE(near(got.dk, array(summed(want.dk, group)), 0, limit));
          EXPECT_TRUE(near(got.dv, array(summed(want.dv, group)), 0, limit));
          if (want.d_bias.defined()) {
            EXPECT_TRUE(same_bits(got.d_bias, want.d_bias));
          }
        }
      }
    }
  }
}

TEST_P(AttentionGroupedTest, GradientsAgreeWithDifferences) {
  const Tensors inputs = {values({2, 4, 5, 3}, 1), values({2, 2, 7, 3}, 2), values({2, 2, 7, 4}, 3),
                          values({4, 5, 7}, 4)};
  const Function f = [](const Tensors& x) {
    return attention(x[0], x[1], x[2], causal_mask() & additive_mask(x[3])).output;
  };
  EXPECT_TRUE(gradcheck(f, inputs));
  const Function of_weights = [](const Tensors& x) {
    const AttentionResult y = attention(x[0], x[1], x[2], additive_mask(x[3]), with_weights());
    return sum(y.output) + sum(square(y.weights));
  };
  EXPECT_TRUE(gradcheck(of_weights, inputs));
}

TEST_P(AttentionGroupedTest, GradientsOfUnpaddedRowsAgreeWithDifferences) {
  const UnpaddedRows rows(tensor({3, 1, 4}), 5);
  const Function f = [&](const Tensors& x) {
    const AttentionResult y = attention(x[0], x[1], x[2], {}, with_weights({.unpadded = rows}));
    return sum(square(y.output)) + sum(square(y.weights));
  };
  EXPECT_TRUE(
      gradcheck(f, {values({1, 4, 8, 3}, 1), values({1, 1, 8, 3}, 2), values({1, 1, 8, 2}, 3)}));
}

/// The bits do not depend on the division of the work.
TEST_P(AttentionGroupedTest, OneDigestForEveryWay) {
  const WrittenDigests written = {{"d783e36b71a4e09e", "fa2a5b7b713953fe"},
                                  {"dd6d51b7ae2036b5", "9a0a7c3f82ba8644"}};
  for (const DType dtype : {kFloat32, kFloat64}) {
    for (const int threads : {1, 2, 3, 8}) {
      for (const index_t batch : {3, 1}) {
        const AttentionInputs all = grouped_inputs({3, 8, 200, 200, 24, 17}, 4, dtype);
        set_thread_count(threads);
        Digest digest;
        for (index_t b = 0; b < 3; b += batch) {
          const AttentionInputs x =
              all.each([&](const Tensor& each) { return each.slice(0, b, b + batch); });
          const AttentionResults y = run_attention(x, {.causal = true});
          for (index_t i = 0; i < batch; ++i) {
            y.for_each([&](const char*, const Tensor& each) { digest.add(each.select(0, i)); });
          }
        }
        set_thread_count(0);
        EXPECT_EQ(digest.text(), written.of(dtype)) << threads << " threads, batch " << batch;
      }
    }
  }
}

TEST(AttentionGrouped, Errors) {
  const auto attend = [](index_t heads, index_t k, index_t v) {
    return [=] { attention(zeros({1, heads, 2, 4}), zeros({1, k, 2, 4}), zeros({1, v, 2, 4})); };
  };
  const char* const rule = "k and v must have the same number of heads, a divisor of that of q";
  fails("attention", {rule, "q (1, 6, 2, 4), k (1, 4, 2, 4)"}, attend(6, 4, 4));
  fails("attention", {rule, "k (1, 3, 2, 4), v (1, 2, 2, 4)"}, attend(6, 3, 2));
  fails("attention", {rule, "q (1, 2, 2, 4), k (1, 4, 2, 4)"}, attend(2, 4, 4));
  fails("attention", {rule, "k (1, 0, 2, 4)"}, attend(2, 0, 0));
  fails("attention", {"equal first axes", "q (2, 3, 4), k (1, 3, 4)"}, [] {
    attention(zeros({2, 3, 4}), zeros({1, 3, 4}), zeros({1, 3, 4}));
  });
}

}  // namespace
}  // namespace tessera::test
