#include "tessera/nn/nn.h"
#include "tests/support/gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

/// Random parameters, so that no default hides a mistake.
template <class Module>
void randomise(Module& module) {
  std::uint64_t seed = 50;
  for_each_parameter(module, [&](const std::string&, Tensor& parameter) {
    parameter = random_tensor(parameter.shape(), kFloat32, seed++, -0.2, 0.2);
  });
}

MultiHeadAttention make(const MultiHeadAttentionOptions& options) {
  MultiHeadAttention module(options);
  randomise(module);
  return module;
}

const AttentionRequest kAveraged = {.averaged = true};

using MultiHeadAttentionTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, MultiHeadAttentionTest, each_isa(), isa_name);

// The values are in parity_test.cpp and modern_layer_test.cpp.
TEST_P(MultiHeadAttentionTest, SelfAttentionHasTheBitsOfThreeEqualInputs) {
  for (bool bias : {true, false}) {
    const MultiHeadAttention attend = make({.embed_dim = 15, .num_heads = 5, .bias = bias});
    const Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
    const AttentionMask mask = causal_mask() & length_mask({9, 4});
    const AttentionRequest weights;
    const AttentionResult one = attend({.query = x, .mask = mask, .need_weights = weights});
    const AttentionResult three =
        attend({.query = x, .key = x, .value = x, .mask = mask, .need_weights = weights});
    EXPECT_TRUE(same_bits(three.output, one.output));
    EXPECT_TRUE(same_bits(three.weights, one.weights));
  }
}

TEST_P(MultiHeadAttentionTest, RotatesQueriesAndKeysByTheirPositions) {
  const Tensor x = random_tensor({2, 5, 12}, kFloat64, 3);
  const Tensor memory = random_tensor({2, 7, 12}, kFloat64, 4);
  const Tensor at = tensor({{0, 1, 2, 3, 4}, {9, 4, 4, 0, 7}});
  const Tensor memory_at = tensor({3, 1, 4, 1, 5, 9, 2});
  for (const index_t kdim : {12, 7}) {
    MultiHeadAttention attend =
        make({.embed_dim = 12, .num_heads = 3, .kdim = kdim, .rotary = {{.base = 50, .width = 2}}});
    convert(attend, kFloat64);
    const auto check = [&](const AttentionInputs& inputs, const Tensor& key, const Tensor& key_at) {
      const auto heads = [&](const Tensor& in, index_t part) {
        const Tensor separate[] = {attend.q_proj_weight, attend.k_proj_weight,
                                   attend.v_proj_weight};
        const Tensor weight = attend.in_proj_weight.defined()
                                  ? attend.in_proj_weight->slice(0, 12 * part, 12 * (part + 1))
                                  : separate[part];
        const Tensor bias = attend.in_proj_bias.slice(0, 12 * part, 12 * (part + 1));
        return linear(in, weight, bias).unflatten(2, {3, 4});
      };
      const Tensor q = (*attend.rotary)(heads(inputs.query, 0), inputs.positions).transpose(1, 2);
      const Tensor k = (*attend.rotary)(heads(key, 1), key_at).transpose(1, 2);
      const Tensor v = heads(inputs.value.defined() ? inputs.value : key, 2).transpose(1, 2);
      const Tensor want = attend.out_proj(merge_heads(attention(q, k, v).output));
      EXPECT_TRUE(near(attend(inputs).output, array(want), 0, 1e-12));
    };
    const Tensor key = memory.slice(2, 0, kdim).contiguous();
    check({.query = x, .key = key, .value = memory}, key, {});
    check({.query = x, .key = key, .value = memory, .positions = at, .key_positions = memory_at},
          key, memory_at);
    if (kdim != 12) continue;
    check({.query = x}, x, {});
    check({.query = x, .positions = at}, x, at);
    check({.query = x, .positions = at, .key_positions = tensor({0, 2, 4, 6, 8})}, x,
          tensor({0, 2, 4, 6, 8}));
  }
}

TEST_P(MultiHeadAttentionTest, WeightsPerHeadAveragedOrNone) {
  const MultiHeadAttention attend = make({.embed_dim = 12, .num_heads = 3});
  const Tensor x = random_tensor({2, 5, 12}, kFloat32, 3);
  const AttentionResult none = attend(x);
  const AttentionResult per_head = attend({.query = x, .need_weights = AttentionRequest{}});
  const AttentionResult averaged = attend({.query = x, .need_weights = kAveraged});
  EXPECT_FALSE(none.weights.defined());
  EXPECT_EQ(per_head.weights.shape(), (Shape{2, 3, 5, 5}));
  const Array mean = reduce(array(per_head.weights), {1}, false,
                            [](const std::vector<double>& heads) { return total(heads) / 3; });
  EXPECT_TRUE(near(averaged.weights, mean, 1e-6));
  EXPECT_TRUE(same_bits(per_head.output, none.output));
  EXPECT_TRUE(same_bits(averaged.output, none.output));
}

TEST_P(MultiHeadAttentionTest, TokensFirstIsTheSameTransposed) {
  MultiHeadAttention attend = make({.embed_dim = 12, .num_heads = 3});
  const Tensor q = random_tensor({2, 5, 12}, kFloat32, 3);
  const Tensor k = random_tensor({2, 9, 12}, kFloat32, 4);
  const AttentionResult want =
      attend({.query = q, .key = k, .mask = length_mask({3, 9}), .need_weights = kAveraged});
  const AttentionResult self = attend(q);
  attend.batch_first = false;
  const AttentionResult got = attend({.query = q.transpose(0, 1),
                                      .key = k.transpose(0, 1),
                                      .mask = length_mask({3, 9}),
                                      .need_weights = kAveraged});
  EXPECT_TRUE(same_bits(got.output, want.output.transpose(0, 1)));
  EXPECT_TRUE(same_bits(got.weights, want.weights));  // (B, Tq, Tk) either way
  EXPECT_TRUE(same_bits(attend(q.transpose(0, 1)).output, self.output.transpose(0, 1)));
}

TEST_P(MultiHeadAttentionTest, WorksWithoutABatch) {
  for (bool batch_first : {true, false}) {
    const MultiHeadAttention attend =
        make({.embed_dim = 12, .num_heads = 3, .batch_first = batch_first});
    const Tensor x = random_tensor({5, 12}, kFloat32, 3);
    const Tensor batch = x.unsqueeze(batch_first ? 0 : 1);
    for (const AttentionRequest& weights : {AttentionRequest{}, kAveraged}) {
      const AttentionResult got =
          attend({.query = x, .mask = causal_mask(), .need_weights = weights});
      const AttentionResult want =
          attend({.query = batch, .mask = causal_mask(), .need_weights = weights});
      EXPECT_TRUE(same_bits(got.output, want.output.squeeze(batch_first ? 0 : 1)));
      EXPECT_TRUE(same_bits(got.weights, want.weights.squeeze(0)));
    }
  }
}

TEST_P(MultiHeadAttentionTest, WhatIsAbsentIsWhatStandsBefore) {
  const MultiHeadAttention attend = make({.embed_dim = 12, .num_heads = 3});
  const Tensor q = random_tensor({2, 5, 12}, kFloat32, 3);
  const Tensor k = random_tensor({2, 9, 12}, kFloat32, 4);
  const auto output = [&](const AttentionInputs& inputs) { return attend(inputs).output; };
  EXPECT_TRUE(
      same_bits(output({.query = q, .key = k}), output({.query = q, .key = k, .value = k})));
  EXPECT_TRUE(same_bits(output({.query = q, .value = q * 2}),
                        output({.query = q, .key = q, .value = q * 2})));
  const Tensor residual = random_tensor({2, 5, 12}, kFloat32, 5);
  EXPECT_TRUE(same_bits(output({.query = q, .key = k, .residual = residual}),
                        residual + output({.query = q, .key = k})));
}

TEST_P(MultiHeadAttentionTest, EmptyInputs) {
  const MultiHeadAttention attend = make({.embed_dim = 12, .num_heads = 3});
  EXPECT_EQ(attend(zeros({0, 5, 12})).output.shape(), (Shape{0, 5, 12}));
  EXPECT_EQ(attend({.query = zeros({2, 0, 12}), .need_weights = kAveraged}).weights.shape(),
            (Shape{2, 0, 0}));
  // Without keys the attention is zero and the output the bias of the last projection.
  const Tensor none = zeros({2, 0, 12});
  EXPECT_TRUE(same_bits(attend({.query = zeros({2, 5, 12}), .key = none}).output,
                        attend.out_proj.bias.expand({2, 5, 12})));
}

TEST_P(MultiHeadAttentionTest, HeadsSplitAndMerge) {
  const Tensor x = random_tensor({2, 5, 12}, kFloat32, 3);
  const Tensor heads = split_heads(x, 3);
  EXPECT_TRUE(exactly(heads, array(naive_split(x, 3))));
  EXPECT_TRUE(heads.storage() == x.storage());
  EXPECT_TRUE(same_bits(merge_heads(heads), x));
}

TEST(MultiHeadAttention, DropsWeightsWhileTraining) {
  MultiHeadAttention attend = make({.embed_dim = 8, .num_heads = 2, .dropout = 0.5});
  const Tensor x = random_tensor({2, 30, 8}, kFloat32, 3);
  manual_seed(1);
  const AttentionResult dropped = attend({.query = x, .need_weights = AttentionRequest{}});
  manual_seed(1);
  EXPECT_TRUE(same_bits(attend(x).output, dropped.output));
  EXPECT_FALSE(same_bits(attend(x).output, dropped.output));
  eval(attend);
  const AttentionResult whole = attend({.query = x, .need_weights = AttentionRequest{}});
  index_t zeros_found = 0;
  const Array before = array(whole.weights);
  const Array after = array(dropped.weights);
  for (std::size_t i = 0; i < after.values.size(); ++i) {
    if (after.values[i] == 0) {
      ++zeros_found;
    } else {
      ASSERT_NEAR(after.values[i], 2 * before.values[i], 1e-6);
    }
  }
  EXPECT_NEAR(static_cast<double>(zeros_found) / 3600, 0.5, 0.05);
  // The output uses the dropped weights.
  const Tensor v = linear(x, attend.in_proj_weight, attend.in_proj_bias).chunk(3, -1)[2];
  const Tensor heads = matmul(dropped.weights, split_heads(v, 2));
  EXPECT_TRUE(near(dropped.output, array(attend.out_proj(merge_heads(heads))), 0, 1e-5));
}

TEST(ScaledDotProductAttention, NothingLeaksFromBehindAMaskWhileTraining) {
  const ScaledDotProductAttention attend(0.5);
  const Tensor v = tensor({1.0, std::nan("")}).unsqueeze(1);
  const AttentionResult result =
      attend(ones({3, 1}), ones({2, 1}), v, keep_mask(tensor({true, false})));
  EXPECT_TRUE(all(isfinite(result.output)).item<bool>());
  EXPECT_FALSE(result.weights.defined()) << "weights without a request";
}

TEST(ScaledDotProductAttention, GradientsPassThroughDropout) {
  const ScaledDotProductAttention attend(0.4);
  for (const AttentionMask& mask :
       {AttentionMask(), causal_mask(), window_mask(2) & length_mask({6, 0})}) {
    const Function f = [&](const Tensors& x) {
      manual_seed(11);
      return attend(x[0], x[1], x[2], mask).output;
    };
    EXPECT_TRUE(
        gradcheck(f, {values({2, 2, 5, 3}, 1), values({2, 2, 7, 3}, 2), values({2, 2, 7, 4}, 3)}));
  }
}

TEST(MultiHeadAttention, Errors) {
  const MultiHeadAttention attend({.embed_dim = 12, .num_heads = 3});
  fails("MultiHeadAttention", "(12,)", [&] { attend(zeros({12})); });
  fails("MultiHeadAttention", "(B, T, D)", [&] { attend(Tensor()); });
  fails("MultiHeadAttention", {"(1, 5, 13)", "must have width 12"}, [&] {
    attend(zeros({1, 5, 13}));
  });
  const Tensor x = zeros({2, 5, 12});
  fails("attention", "first axes", [&] {
    attend({.query = x, .key = zeros({1, 5, 12}), .value = x});
  });
  fails("attention", "length", [&] { attend({.query = x, .key = zeros({2, 6, 12}), .value = x}); });
  fails("attention", {"2 lengths", "got 1"},
        [&] { attend({.query = x, .mask = length_mask({5})}); });
  fails("MultiHeadAttention", {"(5, 12)", "(2, 5, 12)"}, [&] {
    attend({.query = zeros({5, 12}), .key = x});
  });
  fails("MultiHeadAttention", {"(2, 5, 12)", "(5, 12)"}, [&] {
    attend({.query = x, .residual = zeros({5, 12})});
  });
  fails("split_heads", {"(2, 5, 12)", "7"}, [&] { split_heads(x, 7); });
  fails("merge_heads", "(2, 5, 12)", [&] { merge_heads(x); });
}

}  // namespace
}  // namespace tessera::nn
