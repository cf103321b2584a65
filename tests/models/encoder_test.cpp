// Encoders and their layers.
#include "tessera/models/encoder.h"

#include <iterator>

#include "tessera/models/encoder_layer.h"
#include "tessera/models/models.h"
#include "tessera/nn/module.h"
#include "tests/support/layer_oracle.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

EncoderLayer make(EncoderLayerOptions options) {
  options.dropout = 0;
  EncoderLayer layer(options);
  std::uint64_t seed = 70;
  nn::for_each_parameter(layer, [&](const std::string&, Tensor& parameter) {
    parameter = random_tensor(parameter.shape(), kFloat32, seed++, -0.5, 0.5);
  });
  return layer;
}

using EncoderLayerTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, EncoderLayerTest, each_isa(), isa_name);

TEST_P(EncoderLayerTest, ReturnsItsAttentionWeights) {
  for (bool norm_first : {false, true}) {
    const EncoderLayer layer =
        make({.d_model = 12, .nhead = 3, .dim_feedforward = 20, .norm_first = norm_first});
    const Tensor x = random_tensor({2, 5, 12}, kFloat32, 3);
    const AttentionResult got = layer.with_attentions({x, causal_mask()});
    const Tensor input = norm_first ? (*layer.norm1)(x) : x;
    EXPECT_TRUE(same_bits(got.output, layer(x, causal_mask())));
    const AttentionResult attended = (*layer.self_attn)(
        {.query = input, .mask = causal_mask(), .need_weights = AttentionRequest{}});
    EXPECT_TRUE(same_bits(got.weights, attended.weights));
    EXPECT_EQ(layer.with_attentions({x}, {.heads = {{1}}}).weights.shape(), (Shape{2, 1, 5, 5}));
  }
}

TEST(EncoderLayer, HasPyTorchsDefaults) {
  const EncoderLayer layer({.d_model = 4, .nhead = 2});
  EXPECT_EQ(layer.feed_forward->linear1.weight.size(0), 2048);
  EXPECT_EQ(layer.dropout1.p, 0.1);
  EXPECT_EQ(layer.dropout2.p, 0.1);
  EXPECT_EQ(layer.feed_forward->dropout.p, 0.1);
  EXPECT_EQ(layer.self_attn->attend.dropout.p, 0.1);
  EXPECT_EQ(layer.norm1->eps, 1e-5);
  EXPECT_EQ(layer.feed_forward->activation, nn::Activation::kRelu);
  EXPECT_FALSE(layer.norm_first);
}

/// A layer of 6 columns, 2 heads and 10 hidden ones.
EncoderLayerOptions small(const EncoderLayerOptions& with) {
  EncoderLayerOptions options = with;
  options.d_model = 6;
  options.nhead = 2;
  options.dim_feedforward = 10;
  return options;
}

TEST(EncoderLayer, DetailsChooseItsParameters) {
  const auto names = [](const EncoderLayerOptions& with) {
    std::set<std::string> result;
    for (const auto& [name, tensor] : nn::state_dict(EncoderLayer(small(with)))) {
      result.insert(name);
    }
    return result;
  };
  const std::set<std::string> all = names({});
  const auto without = [&](std::set<std::string> gone) {
    std::set<std::string> rest;
    std::ranges::set_difference(all, gone, std::inserter(rest, rest.end()));
    return rest;
  };
  using O = EncoderLayerOptions;
  struct Case {
    void (*change)(O&);
    std::set<std::string> gone;
  };
  const std::set<std::string> of_norms = {"norm1.bias", "norm2.bias"};
  const std::vector<Case> cases = {
      {[](O& o) { o.bias = false; },
       {"self_attn.in_proj_bias", "self_attn.out_proj.bias", "linear1.bias", "linear2.bias",
        "norm1.bias", "norm2.bias"}},
      {[](O& o) { o.norm_bias = false; }, of_norms},
      {[](O& o) { o.norm = nn::NormKind::kRMSNorm; }, of_norms},
      {[](O& o) { o.attention_bias = false; },
       {"self_attn.in_proj_bias", "self_attn.out_proj.bias"}},
      {[](O& o) { o.linear1_bias = false; }, {"linear1.bias"}},
      {[](O& o) { o.linear2_bias = false; }, {"linear2.bias"}},
      {[](O& o) { o.norm_first = true, o.norm1 = false; }, {"norm1.weight", "norm1.bias"}}};
  for (const Case& each : cases) {
    EncoderLayerOptions options;
    each.change(options);
    EXPECT_EQ(names(options), without(each.gone));
  }
}

TEST(EncoderLayer, DropoutsHaveNamesOfTheirOwn) {
  const auto probabilities = [](std::optional<double> EncoderLayerOptions::*part, double p) {
    EncoderLayerOptions options = small({});
    options.*part = p;
    const EncoderLayer layer(options);
    return std::vector<double>{layer.self_attn->attend.dropout.p, layer.dropout1.p,
                               layer.feed_forward->dropout.p, layer.dropout2.p};
  };
  using P = std::vector<double>;
  using O = EncoderLayerOptions;
  EXPECT_EQ(probabilities(&O::attention_dropout, 0.5), (P{0.5, 0.1, 0.1, 0.1}));
  EXPECT_EQ(probabilities(&O::dropout1, 0.5), (P{0.1, 0.5, 0.1, 0.1}));
  EXPECT_EQ(probabilities(&O::feed_forward_dropout, 0), (P{0.1, 0.1, 0, 0.1}));
  EXPECT_EQ(probabilities(&O::dropout2, 0.5), (P{0.1, 0.1, 0.1, 0.5}));
}

TEST(EncoderLayer, AStepWithDropoutTakesMemoryThatGrowsWithTheLength) {
  EncoderLayer layer({.d_model = 32, .nhead = 2, .dim_feedforward = 64, .dropout = 0.1});
  nn::set_requires_grad(layer);
  const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
  const auto taken = [&](index_t tokens) {
    const Tensor x = random_tensor({1, tokens, 32}, kFloat32, 3).set_requires_grad();
    nn::zero_grad(layer);
    release_cached_memory();
    const index_t before = held();
    Tape tape;
    tape.backward(sum(square(layer(x))));
    return held() - before;
  };
  const index_t shorter = taken(1024);
  const index_t longer = taken(4096);  // one head's weights would have 67 MB
  EXPECT_LT(longer, 5 * shorter);
  EXPECT_LT(longer, index_t{40} * 1000 * 1000);
}

TEST(EncoderLayer, EachDropoutChangesTheOutput) {
  const Tensor x = random_tensor({2, 5, 6}, kFloat32, 3);
  for (int which = 0; which < 4; ++which) {
    EncoderLayer layer = make({.d_model = 6, .nhead = 2, .dim_feedforward = 10});
    const Tensor without = layer(x);
    nn::Dropout* dropouts[] = {&layer.self_attn->attend.dropout, &layer.feed_forward->dropout,
                               &layer.dropout1, &layer.dropout2};
    dropouts[which]->p = 0.5;
    manual_seed(6);
    const Tensor dropped = layer(x);
    EXPECT_FALSE(same_bits(dropped, without)) << "dropout " << which;
    manual_seed(6);
    EXPECT_TRUE(same_bits(layer(x), dropped));
    nn::eval(layer);
    EXPECT_TRUE(same_bits(layer(x), without));
    nn::train(layer);
    manual_seed(6);
    EXPECT_TRUE(same_bits(layer(x), dropped));
  }
}

TEST(EncoderLayer, Errors) {
  const EncoderLayer layer = make({.d_model = 12, .nhead = 3, .dim_feedforward = 20});
  const auto refuses = [&](const char* op, const std::vector<std::string>& parts, const Tensor& x) {
    EXPECT_TRUE(throws(op, parts, [&] { layer(x, keep_mask(ones({7, 7}, kBool))); }));
  };
  refuses("MultiHeadAttention", {"(2, 5, 11)", "must have width 12"}, zeros({2, 5, 11}));
  refuses("MultiHeadAttention", {"(2, 5, 3, 12)"}, zeros({2, 5, 3, 12}));
  refuses("linear", {"float64"}, zeros({2, 5, 12}, kFloat64));
  refuses("attention", {"(7, 7)", "(2, 3, 5, 5)"}, zeros({2, 5, 12}));
}

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
  const EncoderResult trace = encoder.with_attentions({x, causal_mask()});
  EXPECT_TRUE(same_bits(trace.output, encoder(x, causal_mask())));
  ASSERT_EQ(trace.attentions.size(), 2U);
  const AttentionResult first = encoder.layers[0].with_attentions({x, causal_mask()});
  EXPECT_TRUE(same_bits(trace.attentions[0], first.weights));
  EXPECT_TRUE(same_bits(trace.attentions[1],
                        encoder.layers[1].with_attentions({first.output, causal_mask()}).weights));
  EXPECT_EQ(encoder.with_attentions({x}, {.averaged = true}).attentions[1].shape(),
            (Shape{2, 9, 9}));
}

TEST_P(EncoderTest, TracesTheWeightsOfChosenLayers) {
  const Encoder encoder = make(false, true);
  const Tensor x = random_tensor({2, 9, 15}, kFloat32, 3);
  const auto trace = [&](const AttentionRequest& request) {
    const EncoderResult result = encoder.with_attentions({x, causal_mask()}, request);
    EXPECT_TRUE(same_bits(result.output, encoder(x, causal_mask())));
    return result.attentions;
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

TEST(Encoder, EachLayerDrawsItsOwnWeights) {
  const Encoder encoder = make(false, false);
  EXPECT_FALSE(same_bits(encoder.layers[0].self_attn->in_proj_weight,
                         encoder.layers[1].self_attn->in_proj_weight));
  EXPECT_TRUE(same_bits(encoder.layers[1].self_attn->in_proj_weight,
                        make(true, true).layers[1].self_attn->in_proj_weight));  // one seed
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
  const EncoderResult got = shared.with_attentions({x}, {.layers = {{3, 1}}});
  const EncoderResult want = plain.with_attentions({x}, {.layers = {{3, 1}}});
  EXPECT_TRUE(same_bits(got.output, want.output));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(got.attentions[i], want.attentions[i]));
  for (const index_t number : {-1, 2}) {
    options.order = {0, number};
    EXPECT_TRUE(throws("Encoder", {"order", str_cat("got ", number), "from 0 to 1"},
                       [&] { Encoder{options}; }));
  }
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
