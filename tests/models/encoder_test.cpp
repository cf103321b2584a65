#include "models/encoder.h"

#include "nn/module.h"
#include "tests/support/layer_oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

EncoderLayerOptions small_layer(bool norm_first) {
  return {.d_model = 15,
          .nhead = 3,
          .dim_feedforward = 22,
          .activation = nn::Activation::kGelu,
          .norm_first = norm_first};
}

/// A small encoder in evaluation mode.
Encoder make(bool norm_first, bool final_norm, index_t layers = 2) {
  Rng rng(4);
  Encoder encoder({.layers = repeat_layer(small_layer(norm_first), layers),
                   .final_norm = final_norm,
                   .d_model = 15},
                  rng);
  nn::eval(encoder);
  return encoder;
}

using EncoderTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, EncoderTest, each_isa(), isa_name);

TEST_P(EncoderTest, TracesTheWeightsOfEveryLayer) {
  const Encoder encoder = make(false, true);
  const Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
  const EncoderResult trace = encoder.with_weights({x, causal_mask()});
  EXPECT_TRUE(same_bits(trace.output, encoder(x, causal_mask())));
  ASSERT_EQ(trace.weights.size(), 2U);
  const AttentionResult first = encoder.layers[0].with_weights({x, causal_mask()});
  EXPECT_TRUE(same_bits(trace.weights[0], first.weights));
  EXPECT_TRUE(same_bits(trace.weights[1],
                        encoder.layers[1].with_weights({first.output, causal_mask()}).weights));
  EXPECT_EQ(encoder.with_weights({x}, {.averaged = true}).weights[1].shape(), (Shape{2, 9, 9}));
}

TEST_P(EncoderTest, TracesTheWeightsOfChosenLayers) {
  const Encoder encoder = make(false, true);
  const Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
  const auto trace = [&](const AttentionRequest& request) {
    const EncoderResult result = encoder.with_weights({x, causal_mask()}, request);
    EXPECT_TRUE(same_bits(result.output, encoder(x, causal_mask())));
    return result.weights;
  };
  const std::vector<Tensor> all = trace({});
  const std::vector<Tensor> swapped = trace({.layers = {{1, 0, 1}}});
  ASSERT_EQ(swapped.size(), 3U);
  EXPECT_TRUE(same_bits(swapped[0], all[1]));
  EXPECT_TRUE(same_bits(swapped[1], all[0]));
  EXPECT_TRUE(same_bits(swapped[2], all[1]));
  const std::vector<Tensor> part = trace({.layers = {{1}}, .heads = {{2}}, .queries = {{8, 3}}});
  ASSERT_EQ(part.size(), 1U);
  EXPECT_TRUE(same_bits(part[0].select(2, 1), all[1].slice(1, 2, 3).select(2, 3)));
  EXPECT_TRUE(trace({.layers = std::vector<index_t>{}}).empty());
  EXPECT_TRUE(throws("Encoder", {"layers", "got 2"}, [&] { trace({.layers = {{2}}}); }));
  EXPECT_TRUE(throws("Encoder", {"layers", "got -1"}, [&] { trace({.layers = {{-1}}}); }));
}

TEST_P(EncoderTest, EmptyInputs) {
  const Encoder encoder = make(true, true);
  EXPECT_EQ(encoder(zeros({0, 5, 15})).shape(), (Shape{0, 5, 15}));
  EXPECT_EQ(encoder(zeros({2, 0, 15})).shape(), (Shape{2, 0, 15}));
}

TEST_P(EncoderTest, RealPositionsDoNotSeePadding) {
  const Encoder encoder = make(false, false);
  Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
  const Tensor want = encoder(x, length_mask({9, 4}));
  x.select(0, 1).slice(0, 4).fill(std::nan(""));
  const Tensor got = encoder(x, length_mask({9, 4}));
  EXPECT_TRUE(same_bits(got, want));
  EXPECT_TRUE(same_bits(got, without_padding(got, {9, 4})));
}

TEST(Encoder, ParametersHavePyTorchsNames) {
  std::set<std::string> names, want = {"norm.weight", "norm.bias"};
  for (const auto& [name, tensor] : nn::state_dict(make(false, true))) names.insert(name);
  for (const auto& [name, tensor] : nn::state_dict(EncoderLayer(small_layer(false)))) {
    for (const char* layer : {"layers.0.", "layers.1."}) want.insert(layer + name);
  }
  EXPECT_EQ(names, want);
  EXPECT_FALSE(nn::state_dict(make(false, false)).contains("norm.weight"));
}

TEST(Encoder, EachLayerDrawsItsOwnWeights) {
  const Encoder encoder = make(false, false);
  EXPECT_FALSE(same_bits(encoder.layers[0].self_attn.in_proj_weight,
                         encoder.layers[1].self_attn.in_proj_weight));
  EXPECT_TRUE(same_bits(encoder.layers[1].self_attn.in_proj_weight,
                        make(true, true).layers[1].self_attn.in_proj_weight));  // one seed
}

TEST(Encoder, CountsAndSummary) {
  const Encoder encoder = make(false, true);
  const index_t layer = 45 * 15 + 45 + 15 * 15 + 15 + 22 * 15 + 22 + 15 * 22 + 15 + 4 * 15;
  EXPECT_EQ(nn::parameter_count(encoder), 2 * layer + 30);
  const std::string text = nn::summary(encoder);
  EXPECT_TRUE(contains(text, "layers.1.self_attn.in_proj_weight   (45, 15)"));
  EXPECT_TRUE(contains(text, std::to_string(2 * layer + 30) + "\n"));
}

TEST_P(EncoderTest, EachLayerHasItsOwnOptions) {
  EncoderLayerOptions first = {.d_model = 12, .nhead = 2, .dim_feedforward = 20, .dropout = 0};
  first.norm_first = true;
  first.norm1 = false;
  EncoderLayerOptions second = first;
  second.nhead = 3;
  second.dim_feedforward = 14;
  second.activation = nn::Activation::kGelu;
  second.norm1 = true;
  second.norm_bias = false;
  Encoder encoder({.layers = {first, second}, .final_norm = true});
  nn::convert(encoder, kFloat64);
  EXPECT_FALSE(encoder.norm->bias.defined()) << "as the last layer's";
  const nn::StateDict state = nn::state_dict(encoder);
  const Tensor x = random_tensor({2, 9, 12}, kFloat64, 3);
  const MaskParts mask = {.lengths = {9, 4}};
  const Tensor y = naive_layer(first, state, "layers.0.", x, mask);
  const Tensor z = naive_layer(second, state, "layers.1.", y, mask);
  const Tensor want = naive_layer_norm(z, state.at("norm.weight"), {}, 1e-5);
  EXPECT_TRUE(
      near(encoder(x, mask.library()), array(without_padding(want, mask.lengths)), 0, 1e-12));
}

// ALBERT's sharing: a layer applied twice equals two equal layers.
TEST(Encoder, AppliesLayersInTheOrderGiven) {
  const EncoderLayerOptions layer = {
      .d_model = 6, .nhead = 2, .dim_feedforward = 7, .dropout = 0, .norm_first = true};
  EncoderOptions options = {.layers = repeat_layer(layer, 2), .final_norm = true};
  options.order = {0, 0, 1, 0};
  Rng rng(3);
  const Encoder shared(options, rng);
  EXPECT_EQ(shared.layers.size(), 2U);
  Encoder plain({.layers = repeat_layer(layer, 4), .final_norm = true});
  plain.layers = {shared.layers[0], shared.layers[0], shared.layers[1], shared.layers[0]};
  const Tensor x = random_tensor({2, 5, 6}, kFloat32, 3);
  EXPECT_TRUE(same_bits(shared(x), plain(x)));
  const EncoderResult got = shared.with_weights({x}, {.layers = {{3, 1}}});
  const EncoderResult want = plain.with_weights({x}, {.layers = {{3, 1}}});
  EXPECT_TRUE(same_bits(got.output, want.output));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got.weights[i], want.weights[i]));
  for (const index_t number : {-1, 2}) {
    options.order = {0, number};
    EXPECT_TRUE(throws("Encoder", {"order", str_cat("got ", number), "from 0 to 1"},
                       [&] { Encoder{options}; }));
  }
}

TEST(Encoder, LoadsAnothersState) {
  const Encoder from = make(false, true);
  manual_seed(99);
  Encoder to({.layers = repeat_layer(small_layer(false), 2), .final_norm = true});
  nn::eval(to);
  const Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
  EXPECT_FALSE(same_bits(to(x), from(x)));
  nn::load_state_dict(to, nn::state_dict(from));
  EXPECT_TRUE(same_bits(to(x), from(x)));
}

TEST(Encoder, Errors) {
  const Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
  EXPECT_TRUE(same_bits(make(false, false, 0)(x), x));
  Encoder encoder = make(false, true);
  EXPECT_TRUE(throws("load_state_dict", {"missing: layers.0.linear1.bias", "missing: norm.weight"},
                     [&] { nn::load_state_dict(encoder, {}); }));
}

}  // namespace
}  // namespace tessera::models
