// Dropout inside attention: a draw depends only on its position, and draws are independent. The
// values are in attention_test.cpp.

#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/support/attention_run.h"
#include "tests/support/distributions.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionDropoutTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionDropoutTest, each_isa(), isa_name);

constexpr std::uint64_t kKey = 0xFEDCBA9876543210;

AttentionOptions options_of(double p, bool need_weights = false) {
  AttentionOptions options = {.dropout = {p, kKey}};
  if (need_weights) options.need_weights.emplace();
  return options;
}

/// True for a weight that is kept.
Tensor survivors(const Tensor& q, const Tensor& k, const AttentionMask& mask = {},
                 std::uint64_t key = kKey) {
  return ne(
      attention(q, k, k, mask, {.need_weights = AttentionRequest{}, .dropout = {0.3, key}}).weights,
      0);
}

TEST_P(AttentionDropoutTest, ADrawIsAMatterOfItsPlaceAlone) {
  const Tensor q = random_tensor({3, 2, 150, 8}, kFloat32, 1);
  const Tensor k = random_tensor({3, 2, 290, 8}, kFloat32, 2);
  const Tensor all = survivors(q, k);
  EXPECT_TRUE(same_bits(survivors(q * 0.1, k + 1), all));
  EXPECT_TRUE(same_bits(survivors(q.slice(2, 0, 3), k), all.slice(2, 0, 3)));
  EXPECT_TRUE(same_bits(survivors(q, k.slice(2, 0, 31)), all.slice(3, 0, 31)));
  EXPECT_TRUE(same_bits(survivors(q.slice(0, 0, 1), k.slice(0, 0, 1)), all.slice(0, 0, 1)));
  EXPECT_TRUE(same_bits(survivors(q.slice(1, 0, 1), k.slice(1, 0, 1)), all.slice(1, 0, 1)));
  const Tensor keep = random_tensor({150, 290}, kBool, 3);
  EXPECT_TRUE(same_bits(survivors(q, k, keep_mask(keep)), logical_and(all, keep)));
  EXPECT_TRUE(same_bits(survivors(q, k, causal_mask()), logical_and(all, tril(ones_like(all)))));
  EXPECT_FALSE(same_bits(survivors(q, k, {}, kKey + 1), all));
  EXPECT_FALSE(same_bits(all.select(0, 0), all.select(0, 1)));
  EXPECT_FALSE(same_bits(all.select(1, 0), all.select(1, 1)));
}

TEST_P(AttentionDropoutTest, TheSameBitsForPaddingAndLayouts) {
  const AttentionInputs x({3, 2, 131, 140, 24, 17});
  const AttentionOptions options = options_of(0.2);
  for (const MaskParts& mask : {MaskParts{}, MaskParts{.causal = true, .lengths = {140, 17, 0}}}) {
    const AttentionResults want = run_attention(x, mask, options);
    for (Tensor AttentionInputs::*each :
         {&AttentionInputs::q, &AttentionInputs::k, &AttentionInputs::v}) {
      for (const Layout& layout : layouts_of(x.*each)) {
        SCOPED_TRACE(layout.name);
        AttentionInputs others = x;
        others.*each = layout.tensor;
        expect_same(run_attention(others, mask, options), want);
      }
    }
  }
  // Shorter tensors instead of a mask.
  const AttentionResults padded = run_attention(x, {.lengths = {33, 33, 33}}, options);
  const AttentionResults alone = run_attention(
      {x.q.slice(2, 0, 50), x.k.slice(2, 0, 33), x.v.slice(2, 0, 33), x.d_out.slice(2, 0, 50)}, {},
      options);
  EXPECT_TRUE(same_bits(alone.output, padded.output.slice(2, 0, 50)));
  EXPECT_TRUE(same_bits(alone.dq, padded.dq.slice(2, 0, 50)));
}

TEST(AttentionDropout, TheSameBitsOnEachInstructionSet) {
  const AttentionInputs x({2, 2, 70, 140, 24, 17});
  const std::string before = current_isa();
  for (const MaskParts& mask :
       {MaskParts{.causal = true}, MaskParts{.window = 33, .lengths = {140, 77}}}) {
    AttentionResults wide;
    Tensor kept;
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      SCOPED_TRACE(isa);
      if (!kept.defined()) kept = survivors(x.q, x.k, mask.library());
      EXPECT_TRUE(same_bits(survivors(x.q, x.k, mask.library()), kept));
      if (isa == "baseline") continue;  // no fused multiply-add
      const AttentionResults here = run_attention(x, mask, options_of(0.2, true));
      if (!wide.output.defined()) wide = here;
      expect_same(here, wide);
    }
  }
  set_isa(before);
}

TEST_P(AttentionDropoutTest, ProbabilitiesAreRoundedToSteps) {
  const Tensor x = random_tensor({1, 2, 9, 8}, kFloat32, 1);
  const AttentionResult whole = attention(x, x, x, {}, options_of(0, true));
  const AttentionResult none = attention(x, x, x, {}, options_of(0.4 / 65536, true));
  EXPECT_TRUE(same_bits(none.output, whole.output));
  EXPECT_TRUE(same_bits(none.weights, whole.weights));
  const AttentionResult all = attention(x, x, x, {}, options_of(1, true));
  EXPECT_TRUE(same_bits(all.output, zeros(all.output.shape())));
  EXPECT_TRUE(same_bits(all.weights, zeros(all.weights.shape())));
}

TEST_P(AttentionDropoutTest, GradientsAgreeWithDifferences) {
  const Tensors x = {values({2, 2, 5, 3}, 1), values({2, 2, 7, 3}, 2), values({2, 2, 7, 4}, 3),
                     values({5, 7}, 4)};
  const AttentionOptions options = options_of(0.4, true);
  for (const AttentionMask& mask : {AttentionMask{}, causal_mask() & length_mask({6, 3})}) {
    const Function output = [&](const Tensors& in) {
      return attention(in[0], in[1], in[2], mask & additive_mask(in[3]), options).output;
    };
    const Function both = [&](const Tensors& in) {
      const AttentionResult y =
          attention(in[0], in[1], in[2], mask & additive_mask(in[3]), options);
      return matmul(square(y.weights), in[2]) + square(y.output);
    };
    EXPECT_TRUE(gradcheck(output, x));
    EXPECT_TRUE(gradcheck(both, x));
  }
}

TEST_P(AttentionDropoutTest, AValueThatIsDroppedMayBeNan) {
  const Tensor q = random_tensor({1, 1, 6, 8}, kFloat32, 1);
  const Tensor k = random_tensor({1, 1, 40, 8}, kFloat32, 2);
  const Tensor v = random_tensor({1, 1, 40, 8}, kFloat32, 3);
  AttentionOptions options = options_of(0.3);
  index_t unused = 0;
  // Keys that no query keeps: with six queries and p = 0.3 such a seed must be searched for.
  for (std::uint64_t key = 0; unused == 0 && key < 1000; ++key) {
    options.dropout.key = key;
    const Tensor used = any(survivors(q, k, {}, key), {0, 1, 2});
    for (index_t j = 0; j < 40; ++j) {
      if (used.data<bool>()[j]) continue;
      ++unused;
      const Tensor d_out = random_tensor({1, 1, 6, 8}, kFloat32, 4);
      const AttentionResults want = run_attention({q, k, v, d_out}, {}, options);
      for (const double bad : {kNaN, kInf}) {
        Tensor spoiled = v.clone();
        spoiled.select(2, j).fill(bad);
        expect_same(run_attention({q, k, spoiled, d_out}, {}, options), want);
      }
    }
  }
  EXPECT_GT(unused, 0);
  // A score of NaN makes its row NaN, including dropped weights.
  Tensor spoiled = q.clone();
  spoiled.select(2, 2).fill(kNaN);
  options.need_weights.emplace();
  const AttentionResult y = attention(spoiled, k, v, {}, options);
  EXPECT_TRUE(all(isnan(y.output.select(2, 2))).item<bool>());
  EXPECT_TRUE(all(isnan(y.weights.select(2, 2))).item<bool>());
  EXPECT_FALSE(any(isnan(y.output.select(2, 1))).item<bool>());
}

TEST(AttentionDropout, DrawsAreIndependent) {
  constexpr index_t kTokens = 256, kHeads = 4;
  const double p = std::round(0.3 * 65536) / 65536;
  const Tensor x = ones({2, kHeads, kTokens, 1});
  const auto dropped = [&](std::uint64_t key) {
    return logical_not(survivors(x, x, {}, key)).to(kFloat64);
  };
  const Tensor here = dropped(kKey);
  const auto n = static_cast<double>(here.count());
  EXPECT_LT(std::abs(deviations(sum(here).item(), n, p)), 4);
  const auto expect_independent = [&](const Tensor& a, const Tensor& b, const std::string& what) {
    const auto pairs = static_cast<double>(a.count());
    EXPECT_LT(std::abs(deviations(sum(a * b).item(), pairs, p * p)), 4.5) << what;
  };
  for (index_t distance : {1, 2, 3, 16, 32, 64, 128}) {
    for (index_t axis : {2, 3}) {
      expect_independent(here.slice(axis, distance), here.slice(axis, 0, kTokens - distance),
                         str_cat("axis ", axis, ", distance ", distance));
    }
  }
  expect_independent(here, here.transpose(2, 3), "transposed");
  expect_independent(here.slice(1, 1), here.slice(1, 0, kHeads - 1), "heads");
  expect_independent(here.select(0, 0), here.select(0, 1), "sequences");
  expect_independent(here, dropped(kKey + 1), "keys");
  expect_independent(here, dropped(kKey + (std::uint64_t{1} << 32)), "keys, high words");
  // A word is a function of row ^ column, so the corners of a rectangle could be dependent.
  for (const auto& [rows, columns] : {std::array<index_t, 2>{1, 1}, {1, 2}, {2, 16}, {64, 2}}) {
    const index_t height = kTokens - rows, width = kTokens - columns;
    const auto corner = [&, down = rows, right = columns](index_t i, index_t j) {
      return here.slice(2, i * down, i * down + height).slice(3, j * right, j * right + width);
    };
    const Tensor all_four = corner(0, 0) * corner(0, 1) * corner(1, 0) * corner(1, 1);
    const auto rectangles = static_cast<double>(all_four.count());
    EXPECT_LT(std::abs(deviations(sum(all_four).item(), rectangles, std::pow(p, 4))), 4.5)
        << rows << " by " << columns;
  }
  // The drops per row, per column and per position over heads: the sum of squared deviations should
  // equal their number, within a few times sqrt(2 n).
  for (const Axes& axes : {Axes{2}, Axes{3}, Axes{0, 1}}) {
    const Tensor counts = sum(here, axes).contiguous();
    const double each = n / static_cast<double>(counts.count());
    double squares = 0;
    for (index_t i = 0; i < counts.count(); ++i) {
      squares += std::pow(deviations(counts.data<double>()[i], each, p), 2);
    }
    const auto many = static_cast<double>(counts.count());
    EXPECT_LT(std::abs(squares - many) / std::sqrt(2 * many), 4.5);
  }
}

TEST(AttentionDropout, Errors) {
  const Tensor x = ones({1, 2, 5, 4});
  for (const double p : {-0.1, 1.5, kNaN}) {
    fails("attention", {"[0, 1]", str_cat(p)}, [&] { attention(x, x, x, {}, options_of(p)); });
  }
}

}  // namespace
}  // namespace tessera::test
