#include "tessera/tensor/ops/attention.h"

#include "tests/support/attention_run.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// Near the kernel's few queries, its blocks of 48 or 64 and its tiles of 128 keys.
constexpr std::array<index_t, 12> kTokenCounts = {1, 4, 5, 33, 48, 49, 64, 65, 128, 129, 200, 300};
/// Near the vectors and panels of each instruction set.
constexpr std::array<index_t, 9> kWidths = {1, 3, 8, 31, 32, 33, 64, 65, 130};

/// For values of size 2: a few roundings of the scores and of the sums.
double allowed(DType dtype) {
  return dtype == kFloat32 ? 5e-6 : 1e-12;
}

/// The results that are compared: output and weights, or the gradients too.
enum class Compared { kForward, kBackward };

/// Compares with the definition in every instruction set and both dtypes.
void check(const AttentionSizes& s, const MaskParts& mask, Compared compared = Compared::kForward,
           double dropout = 0, std::uint64_t seed = 1) {
  SCOPED_TRACE(str_cat("Tq ", s.queries, ", Tk ", s.keys, ", widths ", s.width, " and ", s.v_width,
                       ", causal ", mask.causal, ", window ", mask.window.value_or(-1),
                       ", dropout ", dropout, ", seed ", seed));
  const AttentionInputs x(s, kFloat32, seed);
  const DropoutOptions drops = {dropout, 0xFEDCBA9876543210};
  const NaiveAttention want = x.oracle(mask, drops);
  const bool backward = compared == Compared::kBackward;
  const auto gradients = backward ? x.backward_oracle(mask, drops) : NaiveAttentionGradients{};
  const std::string before = current_isa();
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    for (DType dtype : {kFloat32, kFloat64}) {
      const double most = backward ? (dtype == kFloat32 ? 3e-5 : 1e-11) : allowed(dtype);
      const AttentionOptions options = with_weights({.dropout = drops});
      if (!backward) {
        const AttentionResult got = x.to(dtype).attend(mask, options);
        EXPECT_TRUE(near(got.output, want.output, 0, most));
        EXPECT_TRUE(near(got.weights, want.weights, 0, most));
        continue;
      }
      const AttentionResults got = run_attention(x.to(dtype), mask, options);
      EXPECT_TRUE(near(got.output, want.output, 0, most));
      EXPECT_TRUE(near(got.weights, want.weights, 0, most));
      EXPECT_TRUE(near(got.dq, gradients.q, 0, most));
      EXPECT_TRUE(near(got.dk, gradients.k, 0, most));
      EXPECT_TRUE(near(got.dv, gradients.v, 0, most));
    }
  }
  set_isa(before);
}

using AttentionTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionTest, each_isa(), isa_name);

TEST(Attention, EveryLengthWithEveryMask) {
  index_t number = 0;  // 144 pairs of lengths with each of 9 widths and each of 16 masks
  for (index_t queries : kTokenCounts) {
    for (index_t keys : kTokenCounts) {
      const AttentionSizes s = {2,
                                1,
                                queries,
                                keys,
                                kWidths[static_cast<std::size_t>(number % 9)],
                                kWidths[static_cast<std::size_t>(number * 5 % 9)]};
      const auto seed = static_cast<std::uint64_t>(100 + 10 * number);
      check(s, random_mask(number % 16, s.scores(), seed + 5), Compared::kForward, 0, seed);
      ++number;
    }
  }
}

TEST(Attention, EveryPairOfWidths) {
  for (index_t width : kWidths) {
    for (index_t v_width : kWidths) check({1, 2, 17, 139, width, v_width}, {});
  }
}

TEST(Attention, EveryLengthWithWindows) {
  constexpr std::array<index_t, 8> kTokens = {1, 4, 33, 49, 64, 129, 200, 300};
  constexpr std::array<index_t, 7> kWindows = {0, 1, 30, 48, 64, 128, 1000};
  std::size_t number = 0;
  for (index_t queries : kTokens) {
    for (index_t keys : kTokens) {
      MaskParts mask = {.causal = number % 3 == 0, .window = kWindows[number % 7]};
      if (number % 4 == 1) mask.lengths = {keys / 2, keys};
      if (number % 5 == 1) mask.keep = random_tensor({queries, keys}, kBool, 4);
      if (number % 5 == 3) mask.bias = random_tensor({2, 1, 1, keys}, kFloat32, 5);
      check({2, 1, queries, keys, 24, 17}, mask);
      ++number;
    }
  }
}

TEST(Attention, DropoutForwardAndBackward) {
  for (AttentionSizes s : {AttentionSizes{2, 2, 1, 1, 1, 1},
                           {2, 2, 3, 140, 8, 5},
                           {2, 2, 5, 7, 3, 4},
                           {2, 2, 65, 131, 33, 17},
                           {2, 2, 150, 300, 16, 64}}) {
    MaskParts some = {.causal = true, .lengths = {s.keys, s.keys / 2}};
    some.keep = random_tensor({s.queries, s.keys}, kBool, 5);
    for (const double p : {0.1, 0.6, 1.0}) {
      check(s, {}, Compared::kBackward, p);
      check(s, some, Compared::kBackward, p);
    }
  }
}

// Tiles begin at the start of a block's window, also in the middle of a pair of keys.
TEST(Attention, DropoutInAWindowForwardAndBackward) {
  for (const auto& [queries, keys] :
       {std::array<index_t, 2>{3, 140}, {70, 70}, {131, 300}, {290, 130}}) {
    for (index_t window : {0, 1, 6, 47, 64, 131, 1000}) {
      MaskParts mask = {.window = window};
      check({2, 1, queries, keys, 12, 17}, mask, Compared::kBackward, 0.3);
      mask.causal = true;
      mask.lengths = {keys, keys - 7};
      mask.bias = random_tensor({queries, keys}, kFloat32, 5);
      check({2, 1, queries, keys, 12, 17}, mask, Compared::kBackward, 0.3);
    }
  }
}

TEST_P(AttentionTest, TakesTwoToFourAxes) {
  const AttentionInputs inputs({2, 3, 9, 11, 8, 5});
  const NaiveAttention want = inputs.oracle();
  const auto attend = [&](const auto& view) {
    return attention(view(inputs.q), view(inputs.k), view(inputs.v), {},
                     {.need_weights = AttentionRequest{}});
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
  const AttentionInputs inputs({2, 2, 21, 37, 19, 35});
  const Tensor want = inputs.attend().output;
  for (const Layout& q : layouts_of(inputs.q)) {
    for (const Layout& k : layouts_of(inputs.k)) {
      for (const Layout& v : layouts_of(inputs.v)) {
        SCOPED_TRACE("q " + q.name + ", k " + k.name + ", v " + v.name);
        EXPECT_TRUE(same_bits(attention(q.tensor, k.tensor, v.tensor).output, want));
      }
    }
  }
}

TEST_P(AttentionTest, MergingTheHeadsOfTheOutputIsAView) {
  const Tensor output = AttentionInputs({2, 3, 70, 70, 5, 5}).attend().output;
  EXPECT_TRUE(output.transpose(1, 2).flatten(2, 3).storage() == output.storage());
}

TEST_P(AttentionTest, ReadsBroadcastInputs) {
  const Tensor q = random_tensor({2, 3, 9, 6}, kFloat32, 1);
  const Tensor k = random_tensor({1, 1, 20, 6}, kFloat32, 2).expand({2, 3, 20, 6});
  const Tensor v = random_tensor({1, 1, 1, 1}, kFloat32, 3).expand({2, 3, 20, 4});
  const NaiveAttention want = naive_attention(q, k, v, {}, 1 / std::sqrt(6.0));
  EXPECT_TRUE(near(attention(q, k, v).output, want.output, 0, allowed(kFloat32)));
}

TEST_P(AttentionTest, MasksBroadcast) {
  const AttentionInputs inputs({2, 3, 70, 131, 8, 9});
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{131}, Shape{70, 1}, Shape{70, 131}, Shape{1, 70, 131},
        Shape{3, 1, 131}, Shape{3, 70, 131}, Shape{2, 1, 1, 131}, Shape{2, 1, 70, 131},
        Shape{1, 3, 70, 131}, Shape{2, 3, 70, 131}, Shape{2, 3, 70, 1}, Shape{1, 1, 1, 1},
        Shape{2, 1, 1, 1}}) {
    SCOPED_TRACE(str_cat("mask ", shape));
    const MaskParts keep = {.keep = random_tensor(shape, kBool, 4)};
    const MaskParts bias = {.bias = random_tensor(shape, kFloat32, 5)};
    for (const MaskParts& mask : {keep, bias, MaskParts{.keep = keep.keep, .bias = bias.bias}}) {
      EXPECT_TRUE(
          near(inputs.attend(mask).output, inputs.oracle(mask).output, 0, allowed(kFloat32)));
    }
  }
}

TEST_P(AttentionTest, MasksOfAnyLayoutAndOfTheOtherFloat) {
  const AttentionInputs inputs({2, 2, 9, 13, 8, 8});
  for (const Layout& keep : random_layouts({2, 2, 9, 13}, kBool, 8)) {
    for (const Layout& bias : random_layouts({2, 2, 9, 13}, kFloat64, 9)) {
      SCOPED_TRACE("keep " + keep.name + ", bias " + bias.name);
      const MaskParts mask = {.keep = keep.tensor, .bias = bias.tensor};
      EXPECT_TRUE(
          near(inputs.attend(mask).output, inputs.oracle(mask).output, 0, allowed(kFloat32)));
    }
  }
}

TEST_P(AttentionTest, FullyMaskedRowsAreExactZeros) {
  const AttentionInputs inputs({2, 2, 70, 140, 8, 35});
  Tensor keep = ones({2, 1, 70, 140}, kBool);
  keep.select(0, 1).select(1, 66).fill(0);
  Tensor bias = zeros({2, 1, 70, 140});
  bias.select(0, 1).select(1, 66).fill(-kInf);
  for (const MaskParts& mask : {MaskParts{.keep = keep}, MaskParts{.bias = bias}}) {
    for (DType dtype : {kFloat32, kFloat64}) {
      const AttentionResult got = inputs.to(dtype).attend(mask, with_weights());
      const Tensor row = got.output.select(0, 1).select(1, 66);
      EXPECT_TRUE(same_bits(row, zeros({2, 35}, dtype)));
      EXPECT_TRUE(same_bits(got.weights.select(0, 1).select(1, 66), zeros({2, 140}, dtype)));
      EXPECT_TRUE(near(got.output, inputs.oracle(mask).output, 0, allowed(dtype)));
    }
  }
}

TEST_P(AttentionTest, LengthsFromZeroToAllKeys) {
  const AttentionInputs inputs({4, 2, 65, 130, 8, 9});
  const MaskParts mask = {.lengths = {0, 1, 129, 130}};
  const AttentionResult got = inputs.attend(mask, with_weights());
  const NaiveAttention want = inputs.oracle(mask);
  EXPECT_TRUE(near(got.output, want.output, 0, allowed(kFloat32)));
  EXPECT_TRUE(near(got.weights, want.weights, 0, allowed(kFloat32)));
  EXPECT_TRUE(same_bits(got.output.select(0, 0), zeros({2, 65, 9})));
  EXPECT_TRUE(
      same_bits(inputs.attend({.lengths = {130, 130, 130, 130}}).output, inputs.attend().output));
}

TEST_P(AttentionTest, WeightsOnRequestChangeNoBitOfTheOutput) {
  const AttentionInputs inputs({2, 2, 65, 200, 33, 17});
  const AttentionResult without = inputs.attend({.causal = true});
  EXPECT_TRUE(same_bits(inputs.attend({.causal = true}, with_weights()).output, without.output));
  EXPECT_FALSE(without.weights.defined());
}

TEST_P(AttentionTest, ScaleIsAnOption) {
  const AttentionInputs inputs({1, 2, 9, 140, 8, 8});
  for (double scale : {0.0, -0.7, 0.125, 6.0}) {
    const NaiveAttention want = naive_attention(inputs.q, inputs.k, inputs.v, {}, scale);
    const AttentionResult got = attention(inputs.q.to(kFloat64), inputs.k.to(kFloat64),
                                          inputs.v.to(kFloat64), {}, {.scale = scale});
    EXPECT_TRUE(near(got.output, want.output, 0, 1e-11)) << "scale " << scale;
  }
}

TEST_P(AttentionTest, AMaximumThatRisesWithEachTileScalesWhatCameBefore) {
  const index_t keys = 400;
  AttentionInputs inputs({1, 1, 3, keys, 1, 4});
  inputs.q = tensor({1.0, 0.3, -1.0}).reshape({1, 1, 3, 1});
  for (double step : {0.01, 0.3, 2.0}) {  // scores up to 4, 120 and 800
    inputs.k = from_vector(random_values<float>(keys, 1, 0, 1), {1, 1, keys, 1});
    float* k = inputs.k.mutable_data<float>();
    for (index_t j = 0; j < keys; ++j) k[j] += static_cast<float>(step * double(j));
    EXPECT_TRUE(near(inputs.to(kFloat64).attend({}).output, inputs.oracle().output, 0, 1e-12));
    EXPECT_TRUE(near(inputs.attend().output, inputs.oracle().output, 0, 2e-4 * step));
  }
}

TEST_P(AttentionTest, MasksOfTheLowestFloatMaskToo) {
  const AttentionInputs inputs({1, 1, 9, 140, 8, 8});
  Tensor bias = zeros({140});
  bias.slice(0, 50).fill(double(std::numeric_limits<float>::lowest()));
  const MaskParts as_length = {.lengths = {50}};
  EXPECT_TRUE(same_bits(inputs.attend({.bias = bias}).output, inputs.attend(as_length).output));
}

}  // namespace
}  // namespace tessera::test
