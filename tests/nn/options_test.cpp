// Invalid options of modules.
#include "tessera/nn/nn.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using test::fails;
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
    const std::string error = not_an_enumerator("reduction", value);
    fails("mse_loss", error, [&] { mse_loss(x, x, none); });
    fails("smooth_l1_loss", error, [&] { smooth_l1_loss(x, x, {.reduction = none}); });
    fails("bce_with_logits", error, [&] { bce_with_logits(x, x, {.reduction = none}); });
    fails("cross_entropy", error, [&] { cross_entropy(x, y, {.reduction = none}); });
    fails("nll_loss", error, [&] { nll_loss(x, y, {.reduction = none}); });
    fails("triplet_margin_loss", error, [&] { triplet_margin_loss(x, x, x, {.reduction = none}); });
    fails("info_nce_loss", error, [&] { info_nce_loss(x, x, {.reduction = none}); });
    fails("kl_div", error, [&] { kl_div(x, x, {.reduction = static_cast<KlReduction>(value)}); });
  }
}

TEST(Options, AnUnknownEnumValueIsAnError) {
  for (const int value : {77, -1}) {
    const auto activation = static_cast<Activation>(value);
    const std::string error = not_an_enumerator("activation", value);
    fails("activate", error, [&] { activate(activation, ones({2})); });
    fails("FeedForward", {error},
          [&] { FeedForward({.d_model = 2, .dim_feedforward = 2, .activation = activation}); });
    fails("Norm", {not_an_enumerator("kind", value)},
          [&] { Norm({.width = 2, .kind = static_cast<NormKind>(value)}); });
    Linear linear(2, 2);
    fails("prepack", {not_an_enumerator("format", value)},
          [&] { prepack(linear, {static_cast<WeightFormat>(value)}); });
  }
}

TEST(Options, HeadsDivideTheWidth) {
  fails("MultiHeadAttention", "num_heads must divide embed_dim 4, got 3",
        [] { MultiHeadAttention({.embed_dim = 4, .num_heads = 3}); });
}

TEST(Options, SizesAreAtLeastOne) {
  for (const index_t none : {0, -3}) {
    const std::string got = "must be at least 1, got " + std::to_string(none);
    fails("Linear", {"in_features", got}, [&] { Linear(none, 2); });
    fails("Linear", {"out_features", got}, [&] { Linear(2, none); });
    fails("Embedding", {"num_embeddings", got}, [&] { Embedding(none, 2); });
    fails("Embedding", {"embedding_dim", got}, [&] { Embedding(2, none); });
    fails("LayerNorm", {"normalized_shape", got}, [&] { LayerNorm{none}; });
    fails("RMSNorm", {"normalized_shape", got}, [&] { RMSNorm{none}; });
    fails("FeedForward", {"d_model", got},
          [&] { FeedForward({.d_model = none, .dim_feedforward = 2}); });
    fails("FeedForward", {"dim_feedforward", got},
          [&] { FeedForward({.d_model = 2, .dim_feedforward = none}); });
    fails("PositionalEncoding", {"d_model", got}, [&] { PositionalEncoding({.d_model = none}); });
    fails("PositionalEncoding", {"max_positions", got},
          [&] { PositionalEncoding({.d_model = 2, .max_positions = none}); });
    fails("LearnedPositionalEncoding", {"max_positions", got},
          [&] { LearnedPositionalEncoding(none, 2); });
    fails("LearnedPositionalEncoding", {"d_model", got},
          [&] { LearnedPositionalEncoding(2, none); });
  }
}

TEST(Options, OfAttention) {
  const auto error = [](const char* what, const MultiHeadAttentionOptions& options) {
    return throws("MultiHeadAttention", {what}, [&] { MultiHeadAttention{options}; });
  };
  EXPECT_TRUE(error("embed_dim must be at least 1, got 0", {.embed_dim = 0, .num_heads = 1}));
  EXPECT_TRUE(error("num_heads must be at least 1, got 0", {.embed_dim = 4, .num_heads = 0}));
  EXPECT_TRUE(error("num_heads must be at least 1, got -2", {.embed_dim = 4, .num_heads = -2}));
  EXPECT_TRUE(error("kdim", {.embed_dim = 4, .num_heads = 2, .kdim = 0}));
  EXPECT_TRUE(error("vdim", {.embed_dim = 4, .num_heads = 2, .vdim = -1}));
  EXPECT_TRUE(error("dropout", {.embed_dim = 4, .num_heads = 2, .dropout = kNan}));
}

TEST(Options, NumbersAreWithinTheirRange) {
  const std::string axes = "normalized_shape must have at least 1 axis, got ()";
  fails("LayerNorm", axes, [] { LayerNorm({.normalized_shape = {}}); });
  fails("RMSNorm", axes, [] { RMSNorm({.normalized_shape = {}}); });
  for (const double eps : {-1.0, kNan, kInfinity}) {
    const std::string error = str_cat("eps must be finite and at least 0, got ", eps);
    fails("LayerNorm", error, [&] { LayerNorm({.normalized_shape = {2}, .eps = eps}); });
    fails("RMSNorm", error, [&] { RMSNorm({.normalized_shape = {2}, .eps = eps}); });
    fails("Norm", error, [&] { Norm({.width = 2, .eps = eps}); });
  }
  for (const double std : {-1.0, kNan, kInfinity}) {
    const std::string error = str_cat("std must be finite and at least 0, got ", std);
    fails("Embedding", {error},
          [&] { Embedding({.num_embeddings = 2, .embedding_dim = 2, .std = std}); });
    fails("normal", error, [&] { init::normal(std); });
  }
  for (const double value : {0.0, -1.0, kNan, kInfinity}) {
    const std::string error = str_cat(" must be finite and above 0, got ", value);
    fails("Rotary", "base" + error, [&] { Rotary({.base = value}, 4); });
    fails("Rotary", "divisor" + error, [&] { Rotary({.divisor = value}, 4); });
  }
  fails("PositionalEncoding", "input_scale",
        [] { PositionalEncoding({.d_model = 2, .input_scale = kInfinity}); });
  const Tensor x = ones({2, 3});
  fails("triplet_margin_loss", "margin must be finite and at least 0, got inf",
        [&] { triplet_margin_loss(x, x, x, {.margin = kInfinity}); });
  fails("triplet_margin_loss", "eps must be finite and at least 0, got inf",
        [&] { triplet_margin_loss(x, x, x, {.eps = kInfinity}); });
  for (const double p : {-0.1, 1.1, kNan}) {
    fails("Dropout", {"[0, 1]", str_cat(p)}, [&] { Dropout{p}; });
  }
}

TEST(Options, SizesCanBeMultiplied) {
  constexpr index_t kHuge = std::numeric_limits<index_t>::max();
  fails("FeedForward", "dim_feedforward must be at most",
        [] { FeedForward({.d_model = 2, .dim_feedforward = kHuge, .gated = true}); });
  fails("MultiHeadAttention", "embed_dim must be at most",
        [] { MultiHeadAttention({.embed_dim = kHuge, .num_heads = 1}); });
}

TEST(Options, AnEmptyFunctionIsAnError) {
  Linear linear(2, 2);
  fails("evaluate", "must have a loss function",
        [&] { evaluate(linear, {.lengths = {1}, .loss = {}}); });
}

TEST(Options, OfABatchSampler) {
  fails("BatchSampler", "each length must be at least 0, got -1", [] { BatchSampler({3, -1}); });
}

TEST(Options, OfClipping) {
  Linear linear(2, 2);
  set_requires_grad(linear);
  for (const double scale : {-1.0, kNan, kInfinity}) {
    fails("clip_grad_norm", {str_cat("scale must be finite and at least 0, got ", scale)},
          [&] { clip_grad_norm(parameters(linear), 1, {.scale = scale}); });
  }
}

TEST(Options, OfASchedule) {
  const std::string rule = " must be at least 0, got -1";
  fails("constant_schedule", "warmup_steps" + rule, [] { constant_schedule(-1); });
  fails("linear_schedule", "warmup_steps" + rule, [] { linear_schedule(-1, 3); });
  fails("linear_schedule", "total_steps" + rule, [] { linear_schedule(3, -1); });
  fails("cosine_schedule", "warmup_steps" + rule, [] { cosine_schedule(-1, 3); });
  fails("cosine_schedule", "total_steps" + rule, [] { cosine_schedule(3, -1); });
  fails("cosine_schedule", "cycles must be finite, got nan", [] { cosine_schedule(1, 2, kNan); });
  fails("inverse_sqrt_schedule", "warmup_steps" + rule, [] { inverse_sqrt_schedule(-1); });
  fails("inverse_sqrt_schedule", "timescale" + rule, [] { inverse_sqrt_schedule(3, -1); });
  fails("step_schedule", "step_size must be at least 1, got 0", [] { step_schedule(0); });
  fails("step_schedule", "gamma must be finite and at least 0, got -1",
        [] { step_schedule(1, -1); });
}

}  // namespace
}  // namespace tessera::nn
