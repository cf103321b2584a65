#include "tensor/ops/attention.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/errors.h"
#include "tests/support/oracle.h"

namespace tessera::test {
namespace {

/// Around the kernel's few queries, its blocks of 48 or 64 and its tiles of 128 keys.
constexpr std::array<index_t, 12> kTokenCounts = {1, 4, 5, 33, 48, 49, 64, 65, 128, 129, 200, 300};
/// Around the vectors and panels of each instruction set.
constexpr std::array<index_t, 9> kWidths = {1, 3, 8, 31, 32, 33, 64, 65, 130};

/// For values of size 2: a few roundings of the scores and of the sums.
double allowed(DType dtype) {
  return dtype == kFloat32 ? 5e-6 : 1e-12;
}

/// float32 values, so that both dtypes compute on the same numbers.
struct Inputs {
  Tensor q, k, v;

  Inputs(index_t batch, index_t heads, index_t queries, index_t keys, index_t width,
         index_t v_width, std::uint64_t seed = 1)
      : q(random_tensor({batch, heads, queries, width}, kFloat32, seed)),
        k(random_tensor({batch, heads, keys, width}, kFloat32, seed + 1)),
        v(random_tensor({batch, heads, keys, v_width}, kFloat32, seed + 2)) {}

  double scale() const { return 1 / std::sqrt(static_cast<double>(q.size(-1))); }
  NaiveAttention oracle(const MaskParts& mask) const {
    return naive_attention(q, k, v, mask, scale());
  }
  AttentionResult run(DType dtype, const MaskParts& mask, bool need_weights = false) const {
    return attention(
        q.to(dtype), k.to(dtype), v.to(dtype), mask.library(),
        need_weights ? AttentionOptions{.weights = AttentionRequest{}} : AttentionOptions{});
  }
};

/// Which kinds of masks apply: bits 0 to 3 are causal, lengths, keep and bias.
MaskParts random_mask(index_t kinds, const Shape& scores, std::uint64_t seed) {
  MaskParts mask;
  mask.causal = kinds & 1;
  if (kinds & 2) {
    for (index_t b = 0; b < scores[0]; ++b) mask.lengths.push_back(scores[3] * (b + 1) / scores[0]);
  }
  if (kinds & 4) mask.keep = random_tensor(scores, kBool, seed);
  if (kinds & 8) {
    mask.bias = random_tensor(scores, kFloat32, seed + 1);
    float* bias = mask.bias.mutable_data<float>();
    for (index_t i = 0; i < mask.bias.count(); i += 5) bias[i] = -INFINITY;
  }
  return mask;
}

/// Compares output and weights with the oracle in every instruction set and both dtypes.
void check(const Inputs& inputs, const MaskParts& mask) {
  const NaiveAttention want = inputs.oracle(mask);
  const std::string before = current_isa();
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    for (DType dtype : {kFloat32, kFloat64}) {
      const AttentionResult got = inputs.run(dtype, mask, true);
      EXPECT_TRUE(near(got.output, want.output, 0, allowed(dtype)));
      EXPECT_TRUE(near(got.weights, want.weights, 0, allowed(dtype)));
    }
  }
  set_isa(before);
}

using AttentionTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionTest, each_isa(), isa_name);

TEST(Attention, EveryLengthWithEveryMask) {
  index_t number = 0;  // 144 pairs of lengths meet each of 9 widths with each of 16 masks
  for (index_t queries : kTokenCounts) {
    for (index_t keys : kTokenCounts) {
      SCOPED_TRACE(str_cat("Tq ", queries, ", Tk ", keys, ", case ", number));
      const index_t width = kWidths[static_cast<std::size_t>(number % 9)];
      const index_t v_width = kWidths[static_cast<std::size_t>(number * 5 % 9)];
      const auto seed = static_cast<std::uint64_t>(100 + 10 * number);
      check(Inputs(2, 1, queries, keys, width, v_width, seed),
            random_mask(number % 16, {2, 1, queries, keys}, seed + 5));
      ++number;
    }
  }
}

TEST(Attention, EveryPairOfWidths) {
  for (index_t width : kWidths) {
    for (index_t v_width : kWidths) {
      SCOPED_TRACE(str_cat("width ", width, ", v width ", v_width));
      check(Inputs(1, 2, 17, 139, width, v_width, 7), {});
    }
  }
}

TEST_P(AttentionTest, TakesTwoToFourAxes) {
  const Inputs inputs(2, 3, 9, 11, 8, 5);
  const NaiveAttention want = inputs.oracle({});
  const auto attend = [&](const auto& view) {
    return attention(view(inputs.q), view(inputs.k), view(inputs.v), {},
                     {.weights = AttentionRequest{}});
  };
  const AttentionResult four = attend([](const Tensor& x) { return x; });
  const AttentionResult three = attend([](const Tensor& x) { return x.select(1, 2); });
  const AttentionResult two = attend([](const Tensor& x) { return x.select(1, 2).select(0, 1); });
  EXPECT_TRUE(near(four.output, want.output, 0, allowed(kFloat32)));
  EXPECT_EQ(three.output.shape(), (Shape{2, 9, 5}));
  EXPECT_EQ(three.weights.shape(), (Shape{2, 9, 11}));
  EXPECT_EQ(two.output.shape(), (Shape{9, 5}));
  EXPECT_EQ(two.weights.shape(), (Shape{9, 11}));
  EXPECT_TRUE(same_bits(three.output, four.output.select(1, 2)));
  EXPECT_TRUE(same_bits(three.weights, four.weights.select(1, 2)));
  EXPECT_TRUE(same_bits(two.output, four.output.select(1, 2).select(0, 1)));
  EXPECT_TRUE(same_bits(two.weights, four.weights.select(1, 2).select(0, 1)));
}

TEST_P(AttentionTest, EveryLayoutGivesTheSameBits) {
  const Inputs inputs(2, 2, 21, 37, 19, 35);
  const Tensor want = inputs.run(kFloat32, {}).output;
  for (const Layout& q : layouts_of(inputs.q)) {
    for (const Layout& k : layouts_of(inputs.k)) {
      for (const Layout& v : layouts_of(inputs.v)) {
        SCOPED_TRACE("q " + q.name + ", k " + k.name + ", v " + v.name);
        EXPECT_TRUE(same_bits(attention(q.tensor, k.tensor, v.tensor).output, want));
      }
    }
  }
}

TEST_P(AttentionTest, ReadsHeadsOfPackedProjections) {
  const index_t heads = 3;
  const index_t width = 5;
  const Tensor qkv = random_tensor({2, 70, 3 * heads * width}, kFloat32, 3);
  const auto part = [&](index_t i) {
    return qkv.chunk(3, -1)[static_cast<std::size_t>(i)]
        .unflatten(2, {heads, width})
        .transpose(1, 2);
  };
  const AttentionResult got = attention(part(0), part(1), part(2), causal_mask());
  const NaiveAttention want =
      naive_attention(part(0), part(1), part(2), {.causal = true}, 1 / std::sqrt(5.0));
  EXPECT_TRUE(near(got.output, want.output, 0, allowed(kFloat32)));
  // Merging the heads is a view.
  EXPECT_TRUE(got.output.transpose(1, 2).flatten(2, 3).storage() == got.output.storage());
}

TEST_P(AttentionTest, ReadsBroadcastInputs) {
  const Tensor q = random_tensor({2, 3, 9, 6}, kFloat32, 1);
  const Tensor k = random_tensor({1, 1, 20, 6}, kFloat32, 2).expand({2, 3, 20, 6});
  const Tensor v = random_tensor({1, 1, 1, 1}, kFloat32, 3).expand({2, 3, 20, 4});
  const NaiveAttention want = naive_attention(q, k, v, {}, 1 / std::sqrt(6.0));
  EXPECT_TRUE(near(attention(q, k, v).output, want.output, 0, allowed(kFloat32)));
}

TEST_P(AttentionTest, MasksBroadcast) {
  const Inputs inputs(2, 3, 70, 131, 8, 9);
  const std::vector<Shape> shapes = {{},
                                     {1},
                                     {131},
                                     {70, 1},
                                     {70, 131},
                                     {1, 70, 131},
                                     {3, 1, 131},
                                     {3, 70, 131},
                                     {2, 1, 1, 131},
                                     {2, 1, 70, 131},
                                     {1, 3, 70, 131},
                                     {2, 3, 70, 131},
                                     {2, 3, 70, 1},
                                     {1, 1, 1, 1},
                                     {2, 1, 1, 1}};
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(str_cat("mask ", shape));
    const MaskParts keep = {.keep = random_tensor(shape, kBool, 4)};
    const MaskParts bias = {.bias = random_tensor(shape, kFloat32, 5)};
    for (const MaskParts& mask : {keep, bias, MaskParts{.keep = keep.keep, .bias = bias.bias}}) {
      EXPECT_TRUE(near(inputs.run(kFloat32, mask).output, inputs.oracle(mask).output, 0,
                       allowed(kFloat32)));
    }
  }
}

TEST_P(AttentionTest, MasksOfAnyLayoutAndOfTheOtherFloat) {
  const Inputs inputs(2, 2, 9, 13, 8, 8);
  for (const Layout& keep : random_layouts({2, 2, 9, 13}, kBool, 8)) {
    for (const Layout& bias : random_layouts({2, 2, 9, 13}, kFloat64, 9)) {
      SCOPED_TRACE("keep " + keep.name + ", bias " + bias.name);
      const MaskParts mask = {.keep = keep.tensor, .bias = bias.tensor};
      EXPECT_TRUE(near(inputs.run(kFloat32, mask).output, inputs.oracle(mask).output, 0,
                       allowed(kFloat32)));
    }
  }
}

TEST_P(AttentionTest, CausalIsAlignedAtTheTopLeft) {
  // Equal scores: query i averages keys 0 to i, and all of them once i passes the last.
  for (index_t keys : {3, 130}) {
    const Tensor zero = zeros({1, 1, 5, 4});
    Tensor values = arange(keys, kFloat32).unsqueeze(1).unsqueeze(0).unsqueeze(0);
    const Tensor out = attention(zero, zeros({1, 1, keys, 4}), values, causal_mask()).output;
    for (index_t i = 0; i < 5; ++i) {
      const index_t last = std::min(i, keys - 1);
      EXPECT_FLOAT_EQ(out.item_at<float>({0, 0, i, 0}), static_cast<float>(last) / 2);
    }
  }
}

TEST_P(AttentionTest, FullyMaskedRowsAreExactZeros) {
  const Inputs inputs(2, 2, 70, 140, 8, 35);
  Tensor keep = ones({2, 1, 70, 140}, kBool);
  keep.select(0, 1).select(1, 66).fill(0);
  Tensor bias = zeros({2, 1, 70, 140});
  bias.select(0, 1).select(1, 66).fill(-kInf);
  for (const MaskParts& mask : {MaskParts{.keep = keep}, MaskParts{.bias = bias}}) {
    for (DType dtype : {kFloat32, kFloat64}) {
      const AttentionResult got = inputs.run(dtype, mask, true);
      const Tensor row = got.output.select(0, 1).select(1, 66);
      EXPECT_TRUE(same_bits(row, zeros({2, 35}, dtype)));
      EXPECT_TRUE(same_bits(got.weights.select(0, 1).select(1, 66), zeros({2, 140}, dtype)));
      EXPECT_TRUE(near(got.output, inputs.oracle(mask).output, 0, allowed(dtype)));
    }
  }
}

TEST_P(AttentionTest, LengthsFromZeroToAllKeys) {
  const Inputs inputs(4, 2, 65, 130, 8, 9);
  const MaskParts mask = {.lengths = {0, 1, 129, 130}};
  const AttentionResult got = inputs.run(kFloat32, mask, true);
  const NaiveAttention want = inputs.oracle(mask);
  EXPECT_TRUE(near(got.output, want.output, 0, allowed(kFloat32)));
  EXPECT_TRUE(near(got.weights, want.weights, 0, allowed(kFloat32)));
  EXPECT_TRUE(same_bits(got.output.select(0, 0), zeros({2, 65, 9})));
  EXPECT_TRUE(same_bits(inputs.run(kFloat32, {.lengths = {130, 130, 130, 130}}).output,
                        inputs.run(kFloat32, {}).output));
}

TEST_P(AttentionTest, WeightsSumToOneAndGiveTheOutput) {
  const Inputs inputs(2, 2, 65, 200, 33, 17);
  const AttentionResult got = inputs.run(kFloat64, {.causal = true}, true);
  const Array weights = array(got.weights);
  const Array sums = reduce(weights, {3}, false, [](const std::vector<double>& row) {
    double sum = 0;
    for (double w : row) sum += w;
    return sum;
  });
  for (double sum : sums.values) EXPECT_NEAR(sum, 1, 1e-13);
  const Array values = array(inputs.v);
  const Array product = build(got.output.shape(), [&](const Dims& at) {
    double sum = 0;
    for (index_t j = 0; j < 200; ++j) {
      sum += weights.at({at[0], at[1], at[2], j}) * values.at({at[0], at[1], j, at[3]});
    }
    return sum;
  });
  EXPECT_TRUE(near(got.output, product, 0, 1e-13));
  EXPECT_FALSE(inputs.run(kFloat64, {}).weights.defined());
}

TEST_P(AttentionTest, WeightsOnRequestChangeNoBitOfTheOutput) {
  const Inputs inputs(2, 2, 65, 200, 33, 17);
  EXPECT_TRUE(same_bits(inputs.run(kFloat32, {.causal = true}, true).output,
                        inputs.run(kFloat32, {.causal = true}, false).output));
}

TEST_P(AttentionTest, ScaleIsAnOption) {
  const Inputs inputs(1, 2, 9, 140, 8, 8);
  for (double scale : {0.0, -0.7, 0.125, 6.0}) {
    const NaiveAttention want = naive_attention(inputs.q, inputs.k, inputs.v, {}, scale);
    const AttentionResult got = attention(inputs.q.to(kFloat64), inputs.k.to(kFloat64),
                                          inputs.v.to(kFloat64), {}, {.scale = scale});
    EXPECT_TRUE(near(got.output, want.output, 0, 1e-11)) << "scale " << scale;
  }
}

TEST_P(AttentionTest, AMaximumThatRisesWithEachTileScalesWhatCameBefore) {
  const index_t keys = 400;
  Inputs inputs(1, 1, 3, keys, 1, 4);
  inputs.q = tensor({1.0, 0.3, -1.0}).reshape({1, 1, 3, 1});
  for (double step : {0.01, 0.3, 2.0}) {  // scores up to 4, 120 and 800
    inputs.k = from_vector(random_values<float>(keys, 1, 0, 1), {1, 1, keys, 1});
    float* k = inputs.k.mutable_data<float>();
    for (index_t j = 0; j < keys; ++j) k[j] += static_cast<float>(step * double(j));
    EXPECT_TRUE(near(inputs.run(kFloat64, {}).output, inputs.oracle({}).output, 0, 1e-12));
    EXPECT_TRUE(near(inputs.run(kFloat32, {}).output, inputs.oracle({}).output, 0, 2e-4 * step));
  }
}

TEST_P(AttentionTest, MasksOfTheLowestFloatMaskToo) {
  const Inputs inputs(1, 1, 9, 140, 8, 8);
  Tensor bias = zeros({140});
  bias.slice(0, 50).fill(double(std::numeric_limits<float>::lowest()));
  const MaskParts as_length = {.lengths = {50}};
  EXPECT_TRUE(same_bits(inputs.run(kFloat32, {.bias = bias}).output,
                        inputs.run(kFloat32, as_length).output));
}

TEST_P(AttentionTest, OneKeyReturnsItsValue) {
  const Inputs inputs(1, 1, 5, 1, 8, 8);
  EXPECT_TRUE(same_bits(inputs.run(kFloat32, {}).output, inputs.v.expand({1, 1, 5, 8})));
}

}  // namespace
}  // namespace tessera::test
