// Invalid options of modules.
#include "nn/nn.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using test::throws;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string not_an_enumerator(const char* what, int value) {
  return str_cat(what, " must be one of its enum's values, got ", value);
}

TEST(Options, AnUnknownReductionIsAnError) {
  const Tensor x = ones({2, 3});
  const Tensor y = zeros({2}, kInt64);
  for (const int value : {9, -1}) {
    const auto none = static_cast<Reduction>(value);
    const auto fails = [&](const char* op, const auto& loss) {
      return throws(op, {not_an_enumerator("reduction", value)}, loss);
    };
    EXPECT_TRUE(fails("mse_loss", [&] { mse_loss(x, x, none); }));
    EXPECT_TRUE(fails("smooth_l1_loss", [&] { smooth_l1_loss(x, x, {.reduction = none}); }));
    EXPECT_TRUE(fails("bce_with_logits", [&] { bce_with_logits(x, x, {.reduction = none}); }));
    EXPECT_TRUE(fails("cross_entropy", [&] { cross_entropy(x, y, {.reduction = none}); }));
    EXPECT_TRUE(fails("nll_loss", [&] { nll_loss(x, y, {.reduction = none}); }));
    EXPECT_TRUE(
        fails("triplet_margin_loss", [&] { triplet_margin_loss(x, x, x, {.reduction = none}); }));
    EXPECT_TRUE(fails("info_nce_loss", [&] { info_nce_loss(x, x, {.reduction = none}); }));
    EXPECT_TRUE(
        fails("kl_div", [&] { kl_div(x, x, {.reduction = static_cast<KlReduction>(value)}); }));
  }
}

TEST(Options, AnUnknownEnumValueIsAnError) {
  for (const int value : {77, -1}) {
    const auto activation = static_cast<Activation>(value);
    const std::string error = not_an_enumerator("activation", value);
    EXPECT_TRUE(throws("activate", {error}, [&] { activate(activation, ones({2})); }));
    EXPECT_TRUE(throws("FeedForward", {error}, [&] {
      FeedForward({.d_model = 2, .dim_feedforward = 2, .activation = activation});
    }));
    EXPECT_TRUE(throws("Norm", {not_an_enumerator("kind", value)},
                       [&] { Norm({.width = 2, .kind = static_cast<NormKind>(value)}); }));
    Linear linear(2, 2);
    EXPECT_TRUE(throws("prepack", {not_an_enumerator("format", value)},
                       [&] { prepack(linear, {static_cast<WeightFormat>(value)}); }));
    const auto decay = static_cast<Schedule::Decay>(value);
    EXPECT_TRUE(throws("Schedule", {not_an_enumerator("decay", value)},
                       [&] { Schedule{.decay = decay}.factor(0); }));
    set_requires_grad(linear);
    SGD optimizer(linear);
    EXPECT_TRUE(throws("LrScheduler", {not_an_enumerator("decay", value)},
                       [&] { LrScheduler(optimizer, {.decay = decay}); }));
  }
}

TEST(Options, HeadsDivideTheWidth) {
  EXPECT_TRUE(throws("MultiHeadAttention", {"num_heads must divide embed_dim 4, got 3"},
                     [] { MultiHeadAttention({.embed_dim = 4, .num_heads = 3}); }));
}

TEST(Options, SizesAreAtLeastOne) {
  for (const index_t none : {0, -3}) {
    const std::string got = "must be at least 1, got " + std::to_string(none);
    EXPECT_TRUE(throws("Linear", {"in_features", got}, [&] { Linear(none, 2); }));
    EXPECT_TRUE(throws("Linear", {"out_features", got}, [&] { Linear(2, none); }));
    EXPECT_TRUE(throws("Embedding", {"num_embeddings", got}, [&] { Embedding(none, 2); }));
    EXPECT_TRUE(throws("Embedding", {"embedding_dim", got}, [&] { Embedding(2, none); }));
    EXPECT_TRUE(throws("LayerNorm", {"normalized_shape", got}, [&] { LayerNorm{none}; }));
    EXPECT_TRUE(throws("RmsNorm", {"normalized_shape", got}, [&] { RmsNorm{none}; }));
    EXPECT_TRUE(throws("FeedForward", {"d_model", got},
                       [&] { FeedForward({.d_model = none, .dim_feedforward = 2}); }));
    EXPECT_TRUE(throws("FeedForward", {"dim_feedforward", got},
                       [&] { FeedForward({.d_model = 2, .dim_feedforward = none}); }));
    EXPECT_TRUE(throws("PositionalEncoding", {"d_model", got},
                       [&] { PositionalEncoding({.d_model = none}); }));
    EXPECT_TRUE(throws("PositionalEncoding", {"max_tokens", got},
                       [&] { PositionalEncoding({.d_model = 2, .max_tokens = none}); }));
    EXPECT_TRUE(throws("LearnedPositionalEncoding", {"max_tokens", got},
                       [&] { LearnedPositionalEncoding(none, 2); }));
    EXPECT_TRUE(throws("LearnedPositionalEncoding", {"d_model", got},
                       [&] { LearnedPositionalEncoding(2, none); }));
  }
}

TEST(Options, OfAttention) {
  const auto fails = [](const char* what, const MultiHeadAttentionOptions& options) {
    return throws("MultiHeadAttention", {what}, [&] { MultiHeadAttention{options}; });
  };
  EXPECT_TRUE(fails("embed_dim must be at least 1, got 0", {.embed_dim = 0, .num_heads = 1}));
  EXPECT_TRUE(fails("num_heads must be at least 1, got 0", {.embed_dim = 4, .num_heads = 0}));
  EXPECT_TRUE(fails("num_heads must be at least 1, got -2", {.embed_dim = 4, .num_heads = -2}));
  EXPECT_TRUE(fails("kdim", {.embed_dim = 4, .num_heads = 2, .kdim = 0}));
  EXPECT_TRUE(fails("vdim", {.embed_dim = 4, .num_heads = 2, .vdim = -1}));
  EXPECT_TRUE(fails("dropout", {.embed_dim = 4, .num_heads = 2, .dropout = kNan}));
}

TEST(Options, NumbersAreWithinTheirRange) {
  const std::string axes = "normalized_shape must have at least 1 axis, got ()";
  EXPECT_TRUE(throws("LayerNorm", {axes}, [] { LayerNorm({.normalized_shape = {}}); }));
  EXPECT_TRUE(throws("RmsNorm", {axes}, [] { RmsNorm({.normalized_shape = {}}); }));
  for (const double eps : {-1.0, kNan, kInfinity}) {
    const std::string error = str_cat("eps must be finite and at least 0, got ", eps);
    EXPECT_TRUE(
        throws("LayerNorm", {error}, [&] { LayerNorm({.normalized_shape = {2}, .eps = eps}); }));
    EXPECT_TRUE(
        throws("RmsNorm", {error}, [&] { RmsNorm({.normalized_shape = {2}, .eps = eps}); }));
    EXPECT_TRUE(throws("Norm", {error}, [&] { Norm({.width = 2, .eps = eps}); }));
  }
  for (const double std : {-1.0, kNan, kInfinity}) {
    const std::string error = str_cat("std must be finite and at least 0, got ", std);
    EXPECT_TRUE(throws("Embedding", {error},
                       [&] { Embedding({.num_embeddings = 2, .embedding_dim = 2, .std = std}); }));
    EXPECT_TRUE(throws("normal", {error}, [&] { normal(std); }));
  }
  for (const double value : {0.0, -1.0, kNan, kInfinity}) {
    const std::string error = str_cat(" must be finite and above 0, got ", value);
    EXPECT_TRUE(throws("Rotary", {"base" + error}, [&] { Rotary({.base = value}, 4); }));
    EXPECT_TRUE(throws("Rotary", {"divisor" + error}, [&] { Rotary({.divisor = value}, 4); }));
  }
  EXPECT_TRUE(throws("PositionalEncoding", {"input_scale"},
                     [] { PositionalEncoding({.d_model = 2, .input_scale = kInfinity}); }));
  const Tensor x = ones({2, 3});
  EXPECT_TRUE(throws("triplet_margin_loss", {"margin must be finite and at least 0, got inf"},
                     [&] { triplet_margin_loss(x, x, x, {.margin = kInfinity}); }));
  EXPECT_TRUE(throws("triplet_margin_loss", {"eps must be finite and at least 0, got inf"},
                     [&] { triplet_margin_loss(x, x, x, {.eps = kInfinity}); }));
  for (const double p : {-0.1, 1.1, kNan}) {
    EXPECT_TRUE(throws("Dropout", {"[0, 1]", str_cat(p)}, [&] { Dropout{p}; }));
  }
}

TEST(Options, SizesCanBeMultiplied) {
  constexpr index_t kHuge = std::numeric_limits<index_t>::max();
  EXPECT_TRUE(throws("FeedForward", {"dim_feedforward must be at most"},
                     [] { FeedForward({.d_model = 2, .dim_feedforward = kHuge, .gated = true}); }));
  EXPECT_TRUE(throws("MultiHeadAttention", {"embed_dim must be at most"},
                     [] { MultiHeadAttention({.embed_dim = kHuge, .num_heads = 1}); }));
}

TEST(Options, AnEmptyFunctionIsAnError) {
  Linear linear(2, 2);
  EXPECT_TRUE(throws("evaluate", {"must have a loss function"},
                     [&] { evaluate(linear, {.lengths = {1}, .loss = {}}); }));
}

TEST(Options, OfABatchSampler) {
  EXPECT_TRUE(throws("BatchSampler", {"each length must be at least 0, got -1"}, [] {
    BatchSampler({3, -1});
  }));
}

TEST(Options, OfClipping) {
  Linear linear(2, 2);
  set_requires_grad(linear);
  for (const double scale : {-1.0, kNan, kInfinity}) {
    EXPECT_TRUE(throws("clip_grad_norm",
                       {str_cat("scale must be finite and at least 0, got ", scale)},
                       [&] { clip_grad_norm(parameters(linear), 1, {.scale = scale}); }));
  }
}

TEST(Options, OfASchedule) {
  Linear linear(2, 2);
  set_requires_grad(linear);
  SGD optimizer(linear);
  EXPECT_TRUE(throws("LrScheduler", {"cycles"},
                     [&] { LrScheduler(optimizer, cosine_schedule(1, 2, kNan)); }));
}

}  // namespace
}  // namespace tessera::nn
