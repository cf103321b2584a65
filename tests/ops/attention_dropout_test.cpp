// Dropout inside attention: against the definition with the same draws, forward and backward; that a
// draw is a matter of its place alone; and that draws are independent.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/indexing.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"
#include "tensor/storage.h"
#include "tests/support/attention_backward_oracle.h"
#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"

namespace tessera::test {
namespace {

using AttentionDropoutTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionDropoutTest, each_isa(), isa_name);

constexpr std::uint64_t kKey = 0xFEDCBA9876543210;

AttentionOptions options_of(double p, bool need_weights = false) {
  AttentionOptions options = {.dropout = {p, kKey}};
  if (need_weights) options.weights.emplace();
  return options;
}

/// Output, weights and the gradients of q, k and v.
struct Results {
  Tensor output, weights, dq, dk, dv;
};

Results run(Tensors x, const Tensor& d_out, const AttentionMask& mask,
            const AttentionOptions& options) {
  for (Tensor& leaf : x) leaf = leaf.detach().set_requires_grad();
  Tape tape;
  const AttentionResult y = attention(x[0], x[1], x[2], mask, options);
  tape.backward(sum(y.output * d_out));
  return {y.output.detach(), y.weights, x[0].grad(), x[1].grad(), x[2].grad()};
}

TEST_P(AttentionDropoutTest, MatchesTheDefinition) {
  struct Size {
    index_t queries, keys, width, v_width;
  };
  for (const Size& s : {Size{1, 1, 1, 1}, Size{3, 140, 8, 5}, Size{5, 7, 3, 4},
                        Size{65, 131, 33, 17}, Size{150, 300, 16, 64}}) {
    const Tensors x = {random_tensor({2, 2, s.queries, s.width}, kFloat32, 1),
                       random_tensor({2, 2, s.keys, s.width}, kFloat32, 2),
                       random_tensor({2, 2, s.keys, s.v_width}, kFloat32, 3)};
    const Tensor d_out = random_tensor({2, 2, s.queries, s.v_width}, kFloat32, 4);
    const double scale = 1 / std::sqrt(static_cast<double>(s.width));
    MaskParts some = {.causal = true, .lengths = {s.keys, s.keys / 2}};
    some.keep = random_tensor({s.queries, s.keys}, kBool, 5);
    for (const MaskParts& mask : {MaskParts{}, some}) {
      for (const double p : {0.1, 0.6, 1.0}) {
        SCOPED_TRACE(
            str_cat("Tq ", s.queries, ", Tk ", s.keys, ", causal ", mask.causal, ", p ", p));
        const DropoutMask dropout = {p, kKey};
        const NaiveAttention want = naive_attention(x[0], x[1], x[2], mask, scale, dropout);
        const NaiveAttentionGradients gradients =
            naive_attention_backward(x[0], x[1], x[2], d_out, mask, scale, dropout);
        for (DType dtype : {kFloat32, kFloat64}) {
          const double allowed = dtype == kFloat32 ? 3e-5 : 1e-11;
          const Results got = run({x[0].to(dtype), x[1].to(dtype), x[2].to(dtype)}, d_out.to(dtype),
                                  mask.library(), options_of(p, true));
          EXPECT_TRUE(near(got.output, want.output, 0, allowed));
          EXPECT_TRUE(near(got.weights, want.weights, 0, allowed));
          EXPECT_TRUE(near(got.dq, gradients.q, 0, allowed));
          EXPECT_TRUE(near(got.dk, gradients.k, 0, allowed));
          EXPECT_TRUE(near(got.dv, gradients.v, 0, allowed));
        }
      }
    }
  }
}

/// That two results agree in every bit.
void expect_same(const Results& got, const Results& want) {
  EXPECT_TRUE(same_bits(got.output, want.output)) << "output";
  if (want.weights.defined()) {
    EXPECT_TRUE(same_bits(got.weights, want.weights)) << "weights";
  }
  EXPECT_TRUE(same_bits(got.dq, want.dq)) << "dq";
  EXPECT_TRUE(same_bits(got.dk, want.dk)) << "dk";
  EXPECT_TRUE(same_bits(got.dv, want.dv)) << "dv";
}

// Tiles begin where a block's window does, in the middle of a pair of keys too.
TEST_P(AttentionDropoutTest, InAWindowMatchesTheDefinition) {
  const DropoutMask dropout = {0.3, kKey};
  for (const auto& [queries, keys] :
       {std::array<index_t, 2>{3, 140}, {70, 70}, {131, 300}, {290, 130}}) {
    const Tensors x = {random_tensor({2, 1, queries, 12}, kFloat64, 1),
                       random_tensor({2, 1, keys, 12}, kFloat64, 2),
                       random_tensor({2, 1, keys, 17}, kFloat64, 3)};
    const Tensor d_out = random_tensor({2, 1, queries, 17}, kFloat64, 4);
    for (index_t window : {0, 1, 6, 47, 64, 131, 1000}) {
      for (const bool other : {false, true}) {
        MaskParts mask = {.causal = other, .window = window};
        if (other) mask.lengths = {keys, keys - 7};
        if (other) mask.bias = random_tensor({queries, keys}, kFloat64, 5);
        SCOPED_TRACE(str_cat("Tq ", queries, ", Tk ", keys, ", window ", window, other));
        const double scale = 1 / std::sqrt(12.0);
        const NaiveAttention want = naive_attention(x[0], x[1], x[2], mask, scale, dropout);
        const NaiveAttentionGradients gradients =
            naive_attention_backward(x[0], x[1], x[2], d_out, mask, scale, dropout);
        for (DType dtype : {kFloat32, kFloat64}) {
          const double allowed = dtype == kFloat32 ? 3e-5 : 1e-11;
          const Results got = run({x[0].to(dtype), x[1].to(dtype), x[2].to(dtype)}, d_out.to(dtype),
                                  mask.library(), options_of(dropout.p, true));
          EXPECT_TRUE(near(got.output, want.output, 0, allowed));
          EXPECT_TRUE(near(got.weights, want.weights, 0, allowed));
          EXPECT_TRUE(near(got.dq, gradients.q, 0, allowed));
          EXPECT_TRUE(near(got.dk, gradients.k, 0, allowed));
          EXPECT_TRUE(near(got.dv, gradients.v, 0, allowed));
        }
      }
    }
  }
}

TEST_P(AttentionDropoutTest, InAWindowHasTheBitsOfTheSameKeysKept) {
  const Tensors x = {random_tensor({2, 2, 190, 24}, kFloat32, 1),
                     random_tensor({2, 2, 230, 24}, kFloat32, 2),
                     random_tensor({2, 2, 230, 17}, kFloat32, 3)};
  const Tensor d_out = random_tensor({2, 2, 190, 17}, kFloat32, 4);
  const Tensor distance = abs(arange(190, kFloat64).unsqueeze(1) - arange(230, kFloat64));
  for (index_t window : {0, 5, 48, 101}) {
    for (const AttentionMask& also : {AttentionMask{}, causal_mask() & length_mask({230, 99})}) {
      SCOPED_TRACE(window);
      const Results want =
          run(x, d_out, keep_mask(distance <= window) & also, options_of(0.2, true));
      for (int threads : {1, 2, 7}) {
        set_thread_count(threads);
        expect_same(run(x, d_out, window_mask(window) & also, options_of(0.2, true)), want);
      }
      set_thread_count(0);
    }
  }
}

/// True where a weight survives.
Tensor survivors(const Tensor& q, const Tensor& k, const AttentionMask& mask = {},
                 std::uint64_t key = kKey) {
  return ne(
      attention(q, k, k, mask, {.weights = AttentionRequest{}, .dropout = {0.3, key}}).weights, 0);
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

TEST_P(AttentionDropoutTest, TheSameBitsForThreadsPaddingAndLayouts) {
  const Tensors x = {random_tensor({3, 2, 131, 24}, kFloat32, 1),
                     random_tensor({3, 2, 140, 24}, kFloat32, 2),
                     random_tensor({3, 2, 140, 17}, kFloat32, 3)};
  const Tensor d_out = random_tensor({3, 2, 131, 17}, kFloat32, 4);
  const AttentionOptions options = options_of(0.2);
  const AttentionMask lengths = length_mask({140, 17, 0});
  for (const AttentionMask& mask : {AttentionMask{}, causal_mask() & lengths}) {
    set_thread_count(1);
    const Results want = run(x, d_out, mask, options);
    for (int threads : {2, 3, 8, 16}) {
      set_thread_count(threads);
      expect_same(run(x, d_out, mask, options), want);
    }
    set_thread_count(0);
    for (std::size_t i = 0; i < 3; ++i) {
      for (const Layout& layout : layouts_of(x[i])) {
        SCOPED_TRACE(layout.name);
        Tensors others = x;
        others[i] = layout.tensor;
        expect_same(run(others, d_out, mask, options), want);
      }
    }
  }
  // Shorter tensors instead of a mask.
  const Results padded = run(x, d_out, length_mask({33, 33, 33}), options);
  const Results alone = run({x[0].slice(2, 0, 50), x[1].slice(2, 0, 33), x[2].slice(2, 0, 33)},
                            d_out.slice(2, 0, 50), {}, options);
  EXPECT_TRUE(same_bits(alone.output, padded.output.slice(2, 0, 50)));
  EXPECT_TRUE(same_bits(alone.dq, padded.dq.slice(2, 0, 50)));
}

TEST(AttentionDropout, TheSameBitsOnEachInstructionSet) {
  const Tensors x = {random_tensor({2, 2, 70, 24}, kFloat32, 1),
                     random_tensor({2, 2, 140, 24}, kFloat32, 2),
                     random_tensor({2, 2, 140, 17}, kFloat32, 3)};
  const Tensor d_out = random_tensor({2, 2, 70, 17}, kFloat32, 4);
  const std::string before = current_isa();
  for (const AttentionMask& mask : {causal_mask(), window_mask(33) & length_mask({140, 77})}) {
    Results wide;
    Tensor kept;
    for (const std::string& isa : available_isas()) {
      set_isa(isa);
      SCOPED_TRACE(isa);
      if (!kept.defined()) kept = survivors(x[0], x[1], mask);
      EXPECT_TRUE(same_bits(survivors(x[0], x[1], mask), kept));
      if (isa == "baseline") continue;  // has no fused multiply-add
      const Results here = run(x, d_out, mask, options_of(0.2, true));
      if (!wide.output.defined()) wide = here;
      expect_same(here, wide);
    }
  }
  set_isa(before);
}

TEST_P(AttentionDropoutTest, WeightsAreThoseThatMakeTheOutput) {
  const Tensor q = random_tensor({2, 3, 70, 8}, kFloat32, 1);
  const Tensor k = random_tensor({2, 3, 200, 8}, kFloat32, 2);
  const Tensor identity = where(eq(arange(200).unsqueeze(1), arange(200)), ones({200, 200}), 0);
  AttentionOptions options = options_of(0.3, true);
  const AttentionResult y =
      attention(q, k, identity.expand({2, 3, 200, 200}), causal_mask(), options);
  EXPECT_TRUE(same_bits(y.weights, y.output));
  options.weights = {.heads = {{2, 0}}, .queries = {{69, 3}}};
  const Tensor some = attention(q, k, k, causal_mask(), options).weights;
  const Tensor heads = index_select(y.weights, 1, tensor({2, 0}));
  EXPECT_TRUE(same_bits(some, index_select(heads, 2, tensor({69, 3}))));
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
  // Keys that no query keeps: with six queries and p = 0.3 a seed must be looked for.
  for (std::uint64_t key = 0; unused == 0 && key < 1000; ++key) {
    options.dropout.key = key;
    const Tensor used = any(survivors(q, k, {}, key), {0, 1, 2});
    for (index_t j = 0; j < 40; ++j) {
      if (used.data<bool>()[j]) continue;
      ++unused;
      const Tensor d_out = random_tensor({1, 1, 6, 8}, kFloat32, 4);
      const Results want = run({q, k, v}, d_out, {}, options);
      for (const double bad : {kNaN, kInf}) {
        Tensor spoiled = v.clone();
        spoiled.select(2, j).fill(bad);
        expect_same(run({q, k, spoiled}, d_out, {}, options), want);
      }
    }
  }
  EXPECT_GT(unused, 0);
  // A score of NaN makes its row NaN, what is dropped of it too.
  Tensor spoiled = q.clone();
  spoiled.select(2, 2).fill(kNaN);
  options.weights.emplace();
  const AttentionResult y = attention(spoiled, k, v, {}, options);
  EXPECT_TRUE(all(isnan(y.output.select(2, 2))).item<bool>());
  EXPECT_TRUE(all(isnan(y.weights.select(2, 2))).item<bool>());
  EXPECT_FALSE(any(isnan(y.output.select(2, 1))).item<bool>());
}

/// How far `count` successes among n of probability q are from their mean, in deviations.
double deviations(double count, double n, double q) {
  return (count - n * q) / std::sqrt(n * q * (1 - q));
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
  // A word is a function of row ^ column, so the corners of a rectangle could tell of each other.
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
  // How often rows, columns and places over heads drop: sums of squares of deviations are as many as
  // there are, within some times sqrt(2 n).
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

TEST_P(AttentionDropoutTest, NeedsNoMemoryOfTheSquareOfTheLength) {
  constexpr index_t kTokens = 4096;  // a matrix of weights would have 67 MB
  const Tensor x = ones({1, 1, kTokens, 64}).set_requires_grad();
  const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
  release_cached_memory();
  const index_t before = held();
  {
    Tape tape;
    tape.backward(sum(attention(x, x, x, length_mask({64}), options_of(0.1)).output));
  }
  EXPECT_LT(held() - before, index_t{32} * 1000 * 1000);
}

TEST(AttentionDropout, Errors) {
  const Tensor x = ones({1, 2, 5, 4});
  for (const double p : {-0.1, 1.5, kNaN}) {
    EXPECT_TRUE(throws("attention", {"[0, 1]", str_cat(p)},
                       [&] { attention(x, x, x, {}, options_of(p)); }));
  }
}

}  // namespace
}  // namespace tessera::test
