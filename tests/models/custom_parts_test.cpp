// Custom attentions and feed-forward networks in the layers of models.
#include "tessera/models/models.h"
#include "tessera/nn/nn.h"
#include "tests/support/file_support.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

/// Attention in time proportional to T: phi(Q) (phi(K)^T V) / (phi(Q) sum phi(K)), phi = relu + 1.
/// Katharopoulos et al., "Transformers are RNNs", 2020, equation 6, with another phi.
struct LinearAttention {
  nn::Linear query, key, value, out;
  index_t heads;

  LinearAttention(const EncoderLayerOptions& layer, const nn::ParameterSource& from)
      : query(layer.d_model, layer.d_model, from["query"]),
        key(layer.d_model, layer.d_model, from["key"]),
        value(layer.d_model, layer.d_model, from["value"]),
        out(layer.d_model, layer.d_model, from["out"]),
        heads(layer.nhead) {}

  Tensor operator()(const EncoderInputs& inputs) const {
    const Tensor& x = inputs.x;
    const Tensor q = nn::split_heads(relu(query(x)) + 1, heads);
    const Tensor k = nn::split_heads(relu(key(x)) + 1, heads) * inputs.real_tokens();
    const Tensor v = nn::split_heads(value(x), heads);
    const Tensor sums = matmul(q, sum(k, {2}, true).transpose(2, 3));
    return out(nn::merge_heads(matmul(q, matmul(k.transpose(2, 3), v)) / sums));
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("query", self.query);
    visitor("key", self.key);
    visitor("value", self.value);
    visitor("out", self.out);
  }
};

/// The built-in attention as a custom part, with PyTorch's names.
struct SameAttention {
  nn::MultiHeadAttention attend;

  SameAttention(const EncoderLayerOptions& layer, const nn::ParameterSource& from)
      : attend({.embed_dim = layer.d_model, .num_heads = layer.nhead}, from) {}

  AttentionResult operator()(const EncoderInputs& inputs) const {
    return attend({.query = inputs.x, .mask = inputs.mask, .need_weights = AttentionRequest{}});
  }

  static void visit(auto& self, auto&& visitor) {
    nn::MultiHeadAttention::visit(self.attend, visitor);
  }
};

template <class Part>
Part make(const EncoderLayerOptions& layer, const nn::ParameterSource& from) {
  return Part(layer, from);
}

nn::Sequential two_linears(const EncoderLayerOptions& layer, const nn::ParameterSource& from) {
  return {nn::Linear(layer.d_model, 24, from["0"]), tessera::relu,
          nn::Linear(24, layer.d_model, from["2"])};
}

EncoderLayerOptions small_layer() {
  return {.d_model = 16, .nhead = 2, .dim_feedforward = 24, .dropout = 0};
}

SequenceClassifierOptions classifier_of(std::vector<EncoderLayerOptions> layers) {
  return {.token_encoder = {.vocab_size = 20,
                            .encoder = {.layers = std::move(layers)},
                            .max_positions = 12,
                            .dropout = 0},
          .num_labels = 3,
          .dropout = 0};
}

Tokens batch_of_three() {
  return {.ids = randint(0, 20, {3, 9}), .lengths = tensor({4, 9, 1})};
}

TEST(CustomParts, CustomCopiesOfBuiltInPartsGiveTheSameBits) {
  EncoderLayerOptions own = small_layer();
  own.attention = make<SameAttention>;
  own.feed_forward = two_linears;
  manual_seed(1);
  SequenceClassifier plain(classifier_of({small_layer(), small_layer()}));
  SequenceClassifier mixed(classifier_of({own, small_layer()}));
  nn::StateDict state = nn::state_dict(plain);
  for (const char* const name : {"weight", "bias"}) {
    const std::string layer = "encoder.layers.0.";
    for (const auto& [from, to] : {std::pair("linear1.", "0."), std::pair("linear2.", "2.")}) {
      state[layer + "feed_forward." + to + name] = state.at(layer + from + name);
      state.erase(layer + from + name);
    }
  }
  nn::load_state_dict(mixed, state);
  const Tokens tokens = batch_of_three();
  EXPECT_TRUE(same_bits(mixed(tokens), plain(tokens)));
  EXPECT_TRUE(same_bits(mixed.token_encoder(tokens), plain.token_encoder(tokens)))
      << "zeros at padding too";
  EXPECT_TRUE(same_bits(mixed.token_encoder(tokens.ids), plain.token_encoder(tokens.ids)));
  const EncoderResult traced = mixed.token_encoder.with_attentions(tokens, {.heads = {{1}}});
  ASSERT_EQ(traced.attentions.size(), 2U);
  EXPECT_EQ(traced.attentions[0].shape(), (Shape{3, 1, 9, 9}));
  nn::prepack(mixed);
  EXPECT_TRUE(same_bits(mixed(tokens), plain(tokens)));
}

TEST(CustomParts, AreTrainedWithTheModel) {
  EncoderLayerOptions own = small_layer();
  own.attention = make<LinearAttention>;
  for (const bool checkpoint : {false, true}) {
    own.gradient_checkpoint = checkpoint;
    manual_seed(2);
    SequenceClassifier model(classifier_of(repeat_layer(own, 2)));
    nn::set_requires_grad(model);
    nn::AdamW optimizer(model, {.lr = 0.01});
    const Tokens tokens = batch_of_three();
    const Tensor labels = tensor({0, 1, 2});
    double first = 0;
    double last = 0;
    for (int step = 0; step < 40; ++step) {
      Tape tape;
      const Tensor loss = nn::cross_entropy(model(tokens), labels);
      tape.backward(loss);
      for (const nn::Parameter& parameter : nn::parameters(model)) {
        EXPECT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
      }
      optimizer.step();
      optimizer.zero_grad();
      last = loss.item();
      if (step == 0) first = last;
    }
    EXPECT_LT(last, first / 4);
  }
}

TEST(CustomParts, PaddingDoesNotChangeResults) {
  EncoderLayerOptions own = small_layer();
  own.attention = make<LinearAttention>;
  const TokenEncoder encode(classifier_of({own, small_layer(), own}).token_encoder);
  const Tokens tokens = batch_of_three();
  const Tensor together = encode(tokens);
  for (index_t b = 0; b < 3; ++b) {
    const index_t length = tokens.lengths.item_at<index_t>({b});
    const Tensor single = encode(tokens.ids.slice(0, b, b + 1).slice(1, 0, length));
    EXPECT_TRUE(
        allclose(together.select(0, b).slice(0, 0, length), single.select(0, 0), 1e-5, 1e-6));
    EXPECT_EQ(sum(abs(together.select(0, b).slice(0, length, 9))).item(), 0);
  }
}

TEST(CustomParts, AreCopiedSavedAndLoaded) {
  EncoderLayerOptions own = small_layer();
  own.attention = make<LinearAttention>;
  own.feed_forward = two_linears;
  manual_seed(3);
  SequenceClassifier model(classifier_of({own}));
  const nn::StateDict state = nn::state_dict(model);
  EXPECT_TRUE(state.contains("encoder.layers.0.self_attn.query.weight"));
  EXPECT_TRUE(state.contains("encoder.layers.0.feed_forward.2.bias"));
  EXPECT_EQ(nn::parameter_count(model),
            20 * 16 + 4 * (16 * 16 + 16) + 2 * 16 * 24 + 24 + 16 + 4 * 16 + 3 * 16 + 3);
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.safetensors";
  nn::save_module(path, model);
  SequenceClassifier other(classifier_of({own}));
  const Tokens tokens = batch_of_three();
  EXPECT_FALSE(same_bits(other(tokens), model(tokens)));
  nn::load_module(path, other);
  EXPECT_TRUE(same_bits(other(tokens), model(tokens)));
  const SequenceClassifier read(classifier_of({own}), nn::ParameterSource(state));
  EXPECT_TRUE(same_bits(read(tokens), model(tokens)));
  SequenceClassifier clone = nn::clone(model);
  clone.token_encoder.encoder.layers[0].custom_attention->get<LinearAttention>()->out.bias.fill(5);
  EXPECT_FALSE(same_bits(clone(tokens), model(tokens)));
}

TEST(CustomParts, OmittedMembersAreFoundWithGradientCheckpoints) {
  EncoderLayerOptions layer = small_layer();
  layer.gradient_checkpoint = true;
  struct Part {
    Encoder encoder;
    nn::Linear head{16, 2};
  };
  Part model{Encoder({.layers = {layer}})};
  nn::set_requires_grad(model.head);
  Tape tape;
  fails("linear", {"must be prepared by nn::set_requires_grad(model)"}, [&] {
    model.head(model.encoder(randn({2, 5, 16})));
  });
}

TEST(CustomParts, AssignedToALayerReplaceItsOwn) {
  EncoderLayer layer(small_layer());
  layer.custom_attention = CustomAttention([](const EncoderInputs& inputs) { return inputs.x; });
  const nn::StateDict state = nn::state_dict(layer);
  EXPECT_FALSE(state.contains("self_attn.in_proj_weight"));
  const Tensor x = randn({2, 5, 16});
  EXPECT_TRUE(same_bits((*layer.norm1)(x + x), (*layer.norm1)(x * 2)));
  layer.custom_feed_forward = CustomFeedForward([](const Tensor& y) { return y; });
  EXPECT_TRUE(same_bits(layer(x), layer.norm2((*layer.norm1)(x + x) * 2)));
}

TEST(CustomParts, HaveHooks) {
  EncoderLayerOptions own = small_layer();
  own.attention = make<LinearAttention>;
  SequenceClassifier model(classifier_of({own}));
  const Tokens tokens = batch_of_three();
  Tensor seen;
  {
    const nn::Hook hook("layers.0.self_attn",
                        [&](const nn::HookPoint& point) { seen = point.value; });
    model(tokens);
  }
  EXPECT_EQ(seen.shape(), (Shape{3, 9, 16}));
  const nn::Hook zero("layers.0.self_attn",
                      [](const nn::HookPoint& point) { return zeros_like(point.value); });
  EXPECT_NO_THROW(model(tokens));
}

TEST(CustomParts, Errors) {
  const auto with = [](auto attention) {
    EncoderLayerOptions own = small_layer();
    own.attention = [attention](const EncoderLayerOptions&, const nn::ParameterSource&) {
      return attention;
    };
    return EncoderLayer(own);
  };
  const Tensor x = randn({2, 5, 16});
  fails("EncoderLayer", {"attention must return float32 (2, 5, 16), got float32 (2, 1, 16)"},
        [&] { with([](const EncoderInputs& inputs) { return mean(inputs.x, {1}, true); })(x); });
  fails("EncoderLayer", {"attention must return a tensor, got an undefined one"},
        [&] { with([](const EncoderInputs&) { return Tensor(); })(x); });
  const EncoderLayer identity = with([](const EncoderInputs& inputs) { return inputs.x; });
  fails("EncoderLayer", {"attention must return weights if weights are requested, got none"},
        [&] { identity.with_attentions({x}); });
  fails("EncoderLayer", {"x must be a padded batch (B, T, D) for custom parts, got unpadded rows"},
        [&] {
          identity({.x = x.reshape({1, 10, 16}), .unpadded = UnpaddedRows(tensor({4, 6}))});
        });
  fails("EncoderLayer", {"x must be a padded batch (B, T, D) for custom parts, got (5, 16)"},
        [&] { identity(x.select(0, 0)); });
  for (const AttentionMask& mask :
       {ignore_keys_mask(zeros({2, 5}, kBool)), window_mask(1), causal_mask(),
        length_mask({5, 3}) & additive_mask(zeros({5, 5}))}) {
    fails("real_tokens", {"mask must hide only padding, by lengths, got another kind"},
          [&] { EncoderInputs{.x = x, .mask = mask}.real_tokens(); });
  }
  EncoderLayerOptions tokens_first = small_layer();
  tokens_first.batch_first = false;
  tokens_first.feed_forward = two_linears;
  fails("EncoderLayer", {"batch_first must be true for custom parts, got false"},
        [&] { EncoderLayer{tokens_first}; });
  EncoderLayerOptions own = small_layer();
  own.feed_forward = [](const EncoderLayerOptions&, const nn::ParameterSource&) {
    return [](const Tensor& y) { return y.to(kFloat64); };
  };
  const EncoderLayer double_network(own);
  fails("EncoderLayer", {"feed_forward must return float32 (2, 5, 16), got float64 (2, 5, 16)"},
        [&] { double_network(x); });
}

}  // namespace
}  // namespace tessera::models
