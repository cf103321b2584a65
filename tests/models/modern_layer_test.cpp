// Layers of modern encoders: every combination of options, compared with the definition.
#include "tessera/models/models.h"
#include "tests/support/layer_oracle.h"
#include "tests/support/model_gradcheck.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

/// Layers of 12 columns in 2 heads, with every combination of further options.
std::vector<EncoderLayerOptions> combinations() {
  std::vector<EncoderLayerOptions> all = {
      {.d_model = 12, .nhead = 2, .dim_feedforward = 7, .dropout = 0, .layer_norm_eps = 1e-3}};
  using Change = std::function<void(EncoderLayerOptions&)>;
  const auto times = [&](const std::vector<Change>& changes) {
    std::vector<EncoderLayerOptions> more;
    for (const EncoderLayerOptions& options : all) {
      for (const Change& change : changes) change(more.emplace_back(options));
    }
    all = more;
  };
  using O = EncoderLayerOptions;
  times({[](O&) {}, [](O& o) { o.norm_first = true; },
         [](O& o) {
           o.norm_first = true;
           o.norm1 = false;
         }});
  times({[](O&) {}, [](O& o) { o.norm = nn::NormKind::kRMSNorm; }});
  times({[](O& o) { o.activation = nn::Activation::kGelu; },
         [](O& o) {
           o.activation = nn::Activation::kSilu;
           o.gated = true;
         }});
  times({[](O&) {}, [](O& o) { o.bias = false; }});
  times({[](O&) {}, [](O& o) { o.window = 2; }});
  times({[](O&) {}, [](O& o) { o.rotary = nn::RotaryOptions{}; },
         [](O& o) {
           o.rotary = {{.base = 100, .width = 4, .interleaved = true, .max_positions = 30}};
         }});
  times({[](O&) {}, [](O& o) { o.relative_position = {{.buckets = 8, .max_distance = 5}}; },
         [](O& o) { o.alibi = true; }});
  return all;
}

/// Layers of 15 columns in 3 heads, each with one further option.
std::vector<EncoderLayerOptions> single_details() {
  std::vector<EncoderLayerOptions> all(
      11, {.d_model = 15, .nhead = 3, .dim_feedforward = 22, .dropout = 0});
  all[0].norm_first = true;
  all[1].activation = nn::Activation::kGeluTanh;
  all[2].norm_first = true;
  all[2].norm_bias = false;
  all[3].scale = 0.7;
  all[3].attention_bias = false;
  all[4].linear1_bias = false;
  all[4].linear2_bias = false;
  all[5].attention_bias = false;
  all[5].norm_bias = false;
  all[6].nhead = 4;
  all[6].head_dim = 6;
  all[6].rotary = nn::RotaryOptions{};
  all[7].num_key_value_heads = 1;
  all[8].nhead = 6;
  all[8].num_key_value_heads = 2;
  all[8].head_dim = 4;
  all[8].head_norm_eps = 1e-3;
  all[8].rotary = nn::RotaryOptions{};
  all[8].window = 3;
  all[9] = all[8];
  all[9].window = {};
  all[9].causal = true;
  all[9].bias = false;
  return all;  // the last is PyTorch's default
}

std::string name_of(const EncoderLayerOptions& o) {
  return str_cat("norm_first ", o.norm_first, ", norm1 ", o.norm1, ", norm ",
                 static_cast<int>(o.norm), ", gated ", o.gated, ", bias ", o.bias, ", window ",
                 o.window.value_or(-1), ", rotary ", o.rotary ? o.rotary->base : 0, ", relative ",
                 o.relative_position.has_value(), ", ALiBi ", o.alibi);
}

/// Random parameters, so that no default hides a mistake.
template <class Module>
void randomise(Module& module) {
  std::uint64_t seed = 70;
  nn::for_each_parameter(module, [&](const std::string&, Tensor& parameter) {
    parameter = random_tensor(parameter.shape(), kFloat32, seed++, -0.5, 0.5);
  });
}

using ModernLayerTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ModernLayerTest, each_isa(), isa_name);

TEST_P(ModernLayerTest, EveryCombinationFollowsItsDefinition) {
  const std::vector<index_t> positions = {0, 1, 2, 5, 9, 10, 3};
  const auto check = [&](const EncoderLayerOptions& options, const MaskParts& mask) {
    EncoderLayer layer(options);
    randomise(layer);
    const Tensor x = random_tensor({2, 7, options.d_model}, kFloat32, 3);
    const EncoderInputs inputs = {x, mask.library(), from_vector(positions)};
    const Tensor want = naive_layer(options, nn::state_dict(layer), "", x, mask, positions);
    EXPECT_TRUE(near(layer(inputs), array(want), 0, 2e-5));
    nn::convert(layer, kFloat64);
    EXPECT_TRUE(
        near(layer({x.to(kFloat64), inputs.mask, inputs.positions}), array(want), 0, 1e-12));
  };
  for (const EncoderLayerOptions& options : combinations()) {
    SCOPED_TRACE(name_of(options));
    check(options, {.lengths = {7, 4}});
  }
  const std::vector<EncoderLayerOptions> details = single_details();
  for (std::size_t i = 0; i < details.size(); ++i) {
    SCOPED_TRACE(str_cat("detail ", i));
    check(details[i], {.causal = !details[i].causal, .lengths = {7, 4}});
  }
}

/// A stack with all options, for heads of an even width.
EncoderOptions modern_stack(double dropout = 0, bool gradient_checkpoint = false) {
  EncoderLayerOptions first = {.d_model = 8,
                               .nhead = 2,
                               .dim_feedforward = 5,
                               .dropout = dropout,
                               .activation = nn::Activation::kGelu,
                               .norm_first = true,
                               .bias = false,
                               .gradient_checkpoint = gradient_checkpoint,
                               .norm1 = false,
                               .gated = true,
                               .rotary = {{.base = 100}}};
  EncoderLayerOptions second = first;
  second.norm = nn::NormKind::kRMSNorm;
  second.norm1 = true;
  second.window = 2;
  EncoderLayerOptions third = second;
  third.activation = nn::Activation::kSilu;
  third.window = 3;
  third.rotary = {};
  third.relative_position = {{.buckets = 8, .max_distance = 5}};
  EncoderLayerOptions fourth = first;
  fourth.norm1 = true;
  fourth.alibi = true;
  fourth.num_key_value_heads = 1;
  fourth.head_norm_eps = 1e-3;
  fourth.causal = true;
  return {.layers = {first, second, third, fourth},
          .final_norm = true,
          .relative_position = {{.buckets = 6, .max_distance = 4}}};
}

Encoder make_stack(double dropout = 0, bool gradient_checkpoint = false) {
  Rng rng(5);
  return Encoder(modern_stack(dropout, gradient_checkpoint), rng);
}

TEST(ModernEncoder, Gradients) {
  const Tensor x = values({2, 6, 8}, 3);
  const Tensor positions = tensor({{0, 1, 2, 3, 4, 5}, {3, 4, 5, 9, 0, 0}});
  EXPECT_TRUE(module_gradients_agree(make_stack(), [&](const Encoder& encoder) {
    return encoder({x, length_mask({6, 4}), positions});
  }));
  Encoder encoder = make_stack();
  nn::convert(encoder, kFloat64);
  const Function of_input = [&](const Tensors& in) { return encoder(in[0], length_mask({6, 4})); };
  EXPECT_TRUE(gradcheck(of_input, {x}));
}

/// A stack with disentangled attention, a norm of its table, and a convolution.
EncoderOptions disentangled_stack() {
  EncoderLayerOptions layer = {.d_model = 8, .nhead = 2, .dim_feedforward = 5, .dropout = 0};
  layer.activation = nn::Activation::kGelu;
  layer.disentangled = nn::DisentangledOptions{.span = 3};
  EncoderOptions options = {.layers = repeat_layer(layer, 2)};
  options.distance_norm = true;
  options.convolution = TokenConvolutionOptions{};
  return options;
}

TEST(ModernEncoder, GradientsWithDistances) {
  const Tensor x = random_tensor({2, 5, 8}, kFloat64, 3);
  for (const bool checkpointed : {false, true}) {
    EncoderOptions options = disentangled_stack();
    for (EncoderLayerOptions& layer : options.layers) layer.gradient_checkpoint = checkpointed;
    Rng rng(5);
    EXPECT_TRUE(module_gradients_agree(Encoder(options, rng), [&](const Encoder& encoder) {
      return sum(square(encoder({x, length_mask({5, 3})})));
    }));
  }
}

TEST(ModernEncoder, DistancesAndConvolutionSeeOnlyTheirText) {
  Rng rng(5);
  const Encoder encoder(disentangled_stack(), rng);
  const Tensor x = random_tensor({2, 6, 8}, kFloat32, 3);
  const Tensor all = encoder({x, length_mask({6, 4})});
  const Tensor alone = encoder({x.slice(0, 1).slice(1, 0, 4).contiguous()});
  EXPECT_TRUE(same_bits(all.select(0, 1).slice(0, 0, 4), alone.select(0, 0)));
  const EncoderResult traced = encoder.with_attentions({x, length_mask({6, 4})});
  EXPECT_TRUE(same_bits(traced.output, all));
  EXPECT_EQ(traced.attentions.size(), 2U);
}

TEST(ModernEncoder, ErrorsOfDistances) {
  const auto refuses = [](const std::string& what, const EncoderOptions& options,
                          const char* op = "Encoder") {
    EXPECT_TRUE(throws(op, {what}, [&] { Encoder{options}; }));
  };
  EncoderOptions rotary = disentangled_stack();
  rotary.layers[1].rotary.emplace();
  refuses("rotary must be absent for disentangled attention", rotary);
  EncoderOptions spans = disentangled_stack();
  spans.layers[1].disentangled->span = 4;
  refuses("same span of disentangled attention, got 3 and 4", spans);
  EncoderOptions even = disentangled_stack();
  even.convolution->kernel_size = 2;
  refuses("kernel_size must be an odd number of tokens, got 2", even, "TokenConvolution");
  EncoderOptions none = disentangled_stack();
  none.layers.clear();
  none.d_model = 8;
  refuses("layers must be at least 1 with batch_first for a convolution, got 0 layers", none);
  Rng rng(5);
  const Encoder encoder(disentangled_stack(), rng);
  EXPECT_TRUE(throws("TokenConvolution", {"x must have shape (B, T, D), got (5, 8)"}, [&] {
    encoder({zeros({5, 8})});
  }));
}

TEST(ModernEncoder, APrepackedStackRunsUnderATape) {
  Encoder encoder = make_stack(0, true);
  const Tensor x = random_tensor({2, 6, 8}, kFloat32, 3);
  const Tensor expected = encoder(x);
  nn::prepack(encoder);
  Tape tape;
  EXPECT_TRUE(same_bits(encoder(x), expected));
}

TEST(ModernEncoder, EveryParameterLearns) {
  for (const double dropout : {0.0, 0.3}) {
    Encoder encoder = make_stack(dropout);
    EXPECT_TRUE(every_parameter_learns(encoder, [](const Encoder& e) {
      return sum(square(e(random_tensor({2, 6, 8}, kFloat32, 3))) *
                 random_tensor({2, 6, 8}, kFloat32, 4));
    }));
  }
}

/// Gradients of more than one block of queries and keys.
TEST_P(ModernLayerTest, GradientsDoNotDependOnThreadsOrLayout) {
  EncoderOptions options = modern_stack();
  for (EncoderLayerOptions& layer : options.layers) {
    layer.d_model = 36;
    layer.nhead = 3;
    layer.dim_feedforward = 20;
    if (layer.window) layer.window = 20;
  }
  Rng rng(5);
  Encoder encoder(options, rng);
  nn::set_requires_grad(encoder);
  const Tensor x = random_tensor({4, 131, 36}, kFloat32, 3);
  const auto gradients = [&](const Tensor& input, int threads) {
    set_thread_count(threads);
    nn::zero_grad(encoder);
    Tape tape;
    const Tensor y = encoder(input, length_mask({131, 70, 1, 100}));
    tape.backward(sum(y * random_tensor(y.shape(), kFloat32, 4)));
    set_thread_count(0);
    std::vector<Tensor> found;
    nn::for_each_parameter(
        encoder, [&](const std::string&, Tensor& p) { found.push_back(p.grad().clone()); });
    return found;
  };
  const std::vector<Tensor> want = gradients(x, 1);
  const auto expect = [&](const std::vector<Tensor>& got) {
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << i;
  };
  for (int threads : {2, 4, 7}) expect(gradients(x, threads));
  expect(gradients(x.transpose(0, 1).clone().transpose(0, 1), 3));
}

TEST(ModernEncoder, LayersWithEqualOptionsShareATable) {
  const Encoder encoder = make_stack();
  const auto table = [&](std::size_t i) {
    return encoder.layers[i].self_attn->rotary->table.value().storage();
  };
  EXPECT_TRUE(table(0) == table(1));
  EXPECT_TRUE(table(0) == table(3));
  EXPECT_FALSE(encoder.layers[2].self_attn->rotary.has_value());
  EncoderOptions options = modern_stack();
  options.layers[1].rotary->base = 200;
  const Encoder other(options);
  EXPECT_FALSE(other.layers[0].self_attn->rotary->table.value().storage() ==
               other.layers[1].self_attn->rotary->table.value().storage());
}

// The shared bias is one additive mask for all layers.
TEST(ModernEncoder, LayersShareOneBias) {
  const Encoder encoder = make_stack();
  Encoder without = encoder;
  without.relative_position.reset();
  const Tensor x = random_tensor({2, 6, 8}, kFloat32, 3);
  const AttentionMask bias = additive_mask((*encoder.relative_position)(6, 6));
  EXPECT_TRUE(same_bits(encoder(x, causal_mask()), without(x, causal_mask() & bias)));
  EXPECT_FALSE(same_bits(encoder(x), without(x)));
  const EncoderResult trace = encoder.with_attentions({x}, {.layers = {{2}}});
  EXPECT_TRUE(same_bits(trace.output, encoder(x)));
  EXPECT_EQ(trace.attentions[0].item_at({0, 0, 0, 5}), 0) << "outside layer 2's window";
}

// Rotary scores depend only on distances: later positions change only rounding errors.
TEST(ModernEncoder, TokensPassTheirPositionsOn) {
  EncoderLayerOptions layer = {.d_model = 8, .nhead = 2, .dim_feedforward = 5, .dropout = 0};
  layer.rotary = nn::RotaryOptions{};
  Rng rng(3);
  TokenEncoder model({.vocab_size = 11,
                      .encoder = {.layers = repeat_layer(layer, 2)},
                      .positions = Positions::kNone,
                      .dropout = 0},
                     rng);
  randomise(model);
  const Tensor ids = tensor({{4, 5, 6, 7}});
  const auto at = [&](const Tensor& positions) {
    return array(model({.ids = ids, .positions = positions}));
  };
  const Tensor usual = model(ids);
  EXPECT_TRUE(same_bits(model({.ids = ids, .positions = tensor({0, 1, 2, 3})}), usual));
  EXPECT_TRUE(near(usual, at(tensor({100, 101, 102, 103})), 0, 1e-4));
  EXPECT_FALSE(near(usual, at(tensor({0, 3, 6, 9})), 0, 1e-4));
  EXPECT_FALSE(near(usual, at(tensor({{3, 2, 1, 0}})), 0, 1e-4));
  const auto weights = [&](const Tensor& positions) {
    return model.with_attentions({.ids = ids, .positions = positions}).attentions[0];
  };
  EXPECT_FALSE(same_bits(weights({}), weights(tensor({0, 3, 6, 9}))));
}

TEST(ModernEncoder, Errors) {
  EncoderLayerOptions layer = {.d_model = 12, .nhead = 2, .dim_feedforward = 5};
  EncoderLayerOptions other = layer;
  other.nhead = 3;
  EXPECT_TRUE(throws("Encoder", {"same nhead", "2", "3"}, [&] {
    Encoder({.layers = {layer, other}, .relative_position = nn::DistanceBuckets{}});
  }));
  EXPECT_TRUE(throws("Encoder", {"layers must be at least 1"},
                     [] { Encoder({.layers = {}, .relative_position = nn::DistanceBuckets{}}); }));
  layer.window = -1;
  EXPECT_ANY_THROW(EncoderLayer{layer});
  layer.window = {};
  layer.rotary = {{.width = 5}};
  EXPECT_TRUE(throws("Rotary", {"width must be", "got 5"}, [&] { EncoderLayer{layer}; }));
  layer.rotary = {};
  layer.relative_position = {{.buckets = 0}};
  EXPECT_ANY_THROW(EncoderLayer{layer});
  layer.relative_position = {};
  layer.rotary = {{.max_positions = 4}};
  const EncoderLayer short_table(layer);
  EXPECT_ANY_THROW(short_table(zeros({1, 5, 12})));
  layer.rotary = {};
  layer.alibi = true;
  const EncoderLayer biased(layer);
  EXPECT_TRUE(throws("EncoderLayer", {"(B, T, D)"}, [&] { biased(Tensor()); }));
}

}  // namespace
}  // namespace tessera::models
