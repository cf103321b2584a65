// New modules: parameters with PyTorch's names, and their random numbers.
#include "tessera/nn/nn.h"
#include "tests/support/distributions.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

/// Names and shapes, one after the other.
std::string listed(const StateDict& state) {
  std::string list;
  for (const auto& [name, tensor] : state) list += str_cat(name, " ", tensor.shape(), " ");
  return list;
}

TEST(FreshModules, ParametersHavePyTorchsNames) {
  const MultiHeadAttentionOptions heads = {.embed_dim = 12, .num_heads = 3};
  MultiHeadAttentionOptions apart = heads, unbiased = heads;
  apart.kdim = 7;
  apart.vdim = 10;
  unbiased.bias = false;
  const FeedForwardOptions network = {.d_model = 9, .dim_feedforward = 21};
  FeedForwardOptions gated = network;
  gated.gated = true;
  const std::vector<std::pair<StateDict, std::string>> cases = {
      {state_dict(Linear(3, 2)), "bias (2,) weight (2, 3) "},
      {state_dict(Linear({.in_features = 3, .out_features = 2, .bias = false})), "weight (2, 3) "},
      {state_dict(Embedding({.num_embeddings = 4, .embedding_dim = 3, .padding_idx = 0})),
       "weight (4, 3) "},
      {state_dict(LayerNorm(6)), "bias (6,) weight (6,) "},
      {state_dict(LayerNorm({.normalized_shape = {6}, .bias = false})), "weight (6,) "},
      {state_dict(RMSNorm(6)), "weight (6,) "},
      {state_dict(FeedForward(network)),
       "linear1.bias (21,) linear1.weight (21, 9) linear2.bias (9,) linear2.weight (9, 21) "},
      {state_dict(FeedForward(gated)),
       "linear1.bias (42,) linear1.weight (42, 9) linear2.bias (9,) linear2.weight (9, 21) "},
      {state_dict(MultiHeadAttention(heads)),
       "in_proj_bias (36,) in_proj_weight (36, 12) out_proj.bias (12,) out_proj.weight (12, 12) "},
      {state_dict(MultiHeadAttention(apart)),
       "in_proj_bias (36,) k_proj_weight (12, 7) out_proj.bias (12,) out_proj.weight (12, 12) "
       "q_proj_weight (12, 12) v_proj_weight (12, 10) "},
      {state_dict(MultiHeadAttention(unbiased)),
       "in_proj_weight (36, 12) out_proj.weight (12, 12) "},
      {state_dict(LearnedPositionalEncoding(20, 7)), "weight (20, 7) "},
      {state_dict(RelativePositionBias({.num_heads = 3, .distances = {8, 20}})), "weight (8, 3) "},
      {state_dict(PositionalEncoding({.d_model = 8})), ""},  // tables are not parameters
      {state_dict(Alibi(6)), ""},
      {state_dict(Rotary({.max_positions = 9}, 8)), ""},
  };
  for (const auto& [state, want] : cases) EXPECT_EQ(listed(state), want);
}

TEST(FreshModules, StartAsPyTorchs) {
  manual_seed(5);
  const Linear linear(100, 400);
  EXPECT_TRUE(uniform_within(linear.weight, 0.1));
  EXPECT_TRUE(uniform_within(linear.bias, 0.1));
  EXPECT_TRUE(normal_with(Embedding(500, 100).weight, 1));
  EXPECT_TRUE(normal_with(LearnedPositionalEncoding(200, 100).weight, 0.02));
  const RelativePositionBias relative({.num_heads = 100, .distances = {200, 300}});
  EXPECT_TRUE(normal_with(relative.weight, 0.02));
  const MultiHeadAttention packed({.embed_dim = 64, .num_heads = 4});
  EXPECT_TRUE(uniform_within(packed.in_proj_weight, std::sqrt(6.0 / (4 * 64))));  // as one matrix
  EXPECT_TRUE(same_bits(packed.in_proj_bias, zeros({3 * 64})));
  EXPECT_TRUE(same_bits(packed.out_proj.bias, zeros({64})));
  EXPECT_TRUE(uniform_within(packed.out_proj.weight, 1.0 / 8));
  const MultiHeadAttention apart({.embed_dim = 64, .num_heads = 4, .kdim = 32});
  EXPECT_TRUE(uniform_within(apart.k_proj_weight, std::sqrt(6.0 / (64 + 32))));
  EXPECT_TRUE(uniform_within(apart.v_proj_weight, std::sqrt(6.0 / 128)));
  EXPECT_TRUE(same_bits(LayerNorm(6).weight, ones({6})));
  EXPECT_TRUE(same_bits(LayerNorm(6).bias, zeros({6})));
  EXPECT_EQ(LayerNorm(6).eps, 1e-5);
  EXPECT_TRUE(same_bits(RMSNorm(6).weight, ones({6})));
  EXPECT_EQ(RMSNorm(6).eps, 1e-6);
}

}  // namespace
}  // namespace tessera::nn
