// Options that no module can have.
#include <gtest/gtest.h>

#include <limits>

#include "nn/nn.h"
#include "tests/support/errors.h"

namespace tessera::nn {
namespace {

using test::throws;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Options, AnUnknownEnumValueIsAnError) {
  const Tensor x = ones({2, 3});
  const auto none = static_cast<Reduction>(9);
  EXPECT_TRUE(throws("loss", {"no such reduction"}, [&] { mse_loss(x, x, none); }));
  EXPECT_TRUE(throws("loss", {"no such reduction"},
                     [&] { triplet_margin_loss(x, x, x, {.reduction = none}); }));
  EXPECT_TRUE(throws("kl_div", {"no such reduction"},
                     [&] { kl_div(x, x, {.reduction = static_cast<KlReduction>(9)}); }));
  const Schedule schedule = {.decay = static_cast<Schedule::Decay>(9)};
  EXPECT_TRUE(throws("Schedule", {"no such decay"}, [&] { schedule.factor(0); }));
}

TEST(Options, HeadsDivideTheWidth) {
  EXPECT_TRUE(throws("MultiHeadAttention", {"num_heads 3 does not divide embed_dim 4"},
                     [] { MultiHeadAttention({.embed_dim = 4, .num_heads = 3}); }));
}

TEST(Options, SizesAreAtLeastOne) {
  for (const index_t none : {0, -3}) {
    const std::string got = "must be at least 1, not " + std::to_string(none);
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
  EXPECT_TRUE(fails("embed_dim must be at least 1, not 0", {.embed_dim = 0, .num_heads = 1}));
  EXPECT_TRUE(fails("num_heads must be at least 1, not 0", {.embed_dim = 4, .num_heads = 0}));
  EXPECT_TRUE(fails("num_heads must be at least 1, not -2", {.embed_dim = 4, .num_heads = -2}));
  EXPECT_TRUE(fails("kdim", {.embed_dim = 4, .num_heads = 2, .kdim = 0}));
  EXPECT_TRUE(fails("vdim", {.embed_dim = 4, .num_heads = 2, .vdim = -1}));
  EXPECT_TRUE(fails("dropout", {.embed_dim = 4, .num_heads = 2, .dropout = kNan}));
}

TEST(Options, NumbersAreWithinTheirRange) {
  EXPECT_TRUE(throws("LayerNorm", {"no axis"}, [] { LayerNorm({.normalized_shape = {}}); }));
  for (const double eps : {-1.0, kNan, kInfinity}) {
    EXPECT_TRUE(
        throws("LayerNorm", {"eps"}, [&] { LayerNorm({.normalized_shape = {2}, .eps = eps}); }));
  }
  EXPECT_TRUE(throws("PositionalEncoding", {"input_scale"},
                     [] { PositionalEncoding({.d_model = 2, .input_scale = kInfinity}); }));
  for (const double p : {-0.1, 1.1, kNan}) {
    EXPECT_TRUE(throws("Dropout", {"[0, 1]"}, [&] { Dropout{p}; }));
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
