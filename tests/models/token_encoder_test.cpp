#include "tessera/models/token_encoder.h"

#include "tessera/models/models.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/support/distributions.h"
#include "tests/support/layer_oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

TokenEncoder make(Positions positions, bool embedding_norm = false, index_t layers = 2) {
  return make_model<TokenEncoder>(tiny_tokens(positions, embedding_norm, layers));
}

const Tensor kIds = tensor({{4, 5, 6, 7, 10}, {8, 9, 4, 0, 0}});
const Tensor kIdLengths = tensor({5, 3});

/// (B, T, D) of embedded tokens with their positions, before any norm.
Tensor naive_embedding(const nn::StateDict& state, Positions positions) {
  const Array table = array(state.at("embeddings.word_embeddings.weight"));
  const auto d = static_cast<double>(table.shape[1]);
  const auto learned = state.find("embeddings.position_embeddings.weight");
  return wide(build({2, 5, table.shape[1]}, [&](const Dims& at) {
    const double word = table.at({kIds.item_at<index_t>({at[0], at[1]}), at[2]});
    if (positions == Positions::kLearned) {
      return word + learned->second.item_at<double>({at[1], at[2]});
    }
    const double angle =
        static_cast<double>(at[1]) / std::pow(10000.0, static_cast<double>(at[2] / 2 * 2) / d);
    return word * std::sqrt(d) + (at[2] % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }));
}

TEST(TokenEncoder, FollowsItsFormula) {
  for (Positions positions : {Positions::kSinusoidal, Positions::kLearned}) {
    for (bool normed : {false, true}) {
      TokenEncoder model = make(positions, normed);
      nn::convert(model, kFloat64);
      nn::StateDict state = nn::state_dict(model);
      Tensor want = naive_embedding(state, positions);
      if (normed) {
        Tensor weight = state.at("embeddings.LayerNorm.weight");
        weight.copy_from(random_tensor({6}, kFloat64, 5));
        want = naive_layer_norm(want, weight, state.at("embeddings.LayerNorm.bias"), 1e-5);
      }
      const MaskParts mask = {.lengths = {5, 3}};
      for (const char* prefix : {"encoder.layers.0.", "encoder.layers.1."}) {
        want = naive_layer(tiny_tokens().encoder.layers[0], state, prefix, want, mask);
      }
      want = naive_layer_norm(want, state.at("encoder.norm.weight"), state.at("encoder.norm.bias"),
                              1e-5);
      EXPECT_TRUE(
          near(model({kIds, kIdLengths}), array(without_padding(want, mask.lengths)), 0, 1e-10));
    }
  }
}

TEST(TokenEncoder, AddsTypes) {
  TokenEncoderOptions options = tiny_tokens(Positions::kLearned, false, 0);
  options.type_vocab_size = 2;
  auto model = make_model<TokenEncoder>(options);
  model.encoder.norm.reset();
  nn::convert(model, kFloat64);
  const nn::StateDict state = nn::state_dict(model);
  const Tensor table = state.at("embeddings.token_type_embeddings.weight");
  EXPECT_EQ(table.shape(), (Shape{2, 6}));
  const Tensor types = tensor({{0, 0, 1, 1, 0}, {1, 1, 0, 1, 0}});
  const Tensor without = naive_embedding(state, Positions::kLearned);
  const auto want = [&](const auto& type_of) {
    return build({2, 5, 6}, [&](const Dims& at) {
      return without.item_at<double>({at[0], at[1], at[2]}) +
             table.item_at<double>({type_of(at), at[2]});
    });
  };
  const auto given = [&](const Dims& at) { return types.item_at<index_t>({at[0], at[1]}); };
  const auto row = [&](const Dims& at) { return types.item_at<index_t>({1, at[1]}); };
  const auto none = [](const Dims&) { return index_t{0}; };
  EXPECT_TRUE(near(model({.ids = kIds, .type_ids = types}), want(given), 0, 1e-14));
  EXPECT_TRUE(near(model({.ids = kIds, .type_ids = types.select(0, 1)}), want(row), 0, 1e-14));
  EXPECT_TRUE(near(model(kIds), want(none), 0, 1e-14));
}

TEST(TokenEncoder, PositionsMayBeGiven) {
  for (Positions kind : {Positions::kSinusoidal, Positions::kLearned, Positions::kNone}) {
    const TokenEncoder model = make(kind);
    const Tensor usual = model({kIds, kIdLengths});
    const auto at = [&](const Tensor& positions) {
      return model({.ids = kIds, .lengths = kIdLengths, .positions = positions});
    };
    EXPECT_TRUE(same_bits(at(tensor({0, 1, 2, 3, 4})), usual));
    EXPECT_TRUE(same_bits(at(tensor({{0, 1, 2, 3, 4}, {0, 1, 2, 8, 8}})).slice(0, 0, 1),
                          usual.slice(0, 0, 1)));
    const Tensor swapped = at(tensor({1, 0, 2, 3, 4}));
    EXPECT_EQ(same_bits(swapped, usual), kind == Positions::kNone);
  }
  // A token's vector depends on its position, not on its index in the row.
  const TokenEncoder model = make(Positions::kLearned);
  const Tensor reversed = model({.ids = tensor({{7, 6, 5}}), .positions = tensor({2, 1, 0})});
  EXPECT_TRUE(allclose(reversed, flip(model(tensor({{5, 6, 7}})), {1}), 1e-5, 1e-6));
}

// As in RoBERTa: padding, here token 2, has its own row, and the positions of the others count from
// there.
TEST(TokenEncoder, PositionsMayFollowTheTokens) {
  TokenEncoderOptions options = tiny_tokens(Positions::kLearned);
  options.pad_token_id = 2;
  const auto model = make_model<TokenEncoder>(options);
  EXPECT_EQ(model.embeddings.learned->weight.shape(), (Shape{9 + 3, 6}));
  const Tensor ids = tensor({{4, 2, 6, 7, 2}, {2, 2, 9, 5, 1}});
  const Tensor positions = tensor({{3, 2, 4, 5, 2}, {2, 2, 3, 4, 5}});
  EXPECT_TRUE(same_bits(model(ids), model({.ids = ids, .positions = positions})));
  EXPECT_FALSE(same_bits(model(ids), model({.ids = ids, .positions = zeros({5}, kInt64)})));
  EXPECT_NO_THROW(model(full({2, 9}, 1, kInt64)));
  EXPECT_NO_THROW(model(full({1, 20}, 2, kInt64)));
  EXPECT_TRUE(throws("TokenEncoder", {"at most 9", "got 10"}, [&] {
    model(full({1, 10}, 1, kInt64));
  }));
  options.pad_token_id = -1;
  EXPECT_TRUE(throws("TokenEncoder", {"pad_token_id", "-1"}, [&] { TokenEncoder{options}; }));
  options.pad_token_id = 2;
  options.positions = Positions::kNone;
  EXPECT_TRUE(throws("TokenEncoder", {"pad_token_id"}, [&] { TokenEncoder{options}; }));
}

TEST(TokenEncoder, EmbeddingsMayHaveAWidthOfTheirOwn) {
  for (const Positions positions : {Positions::kLearned, Positions::kSinusoidal}) {
    TokenEncoderOptions options = tiny_tokens(positions, true);
    options.embedding_width = 4;
    options.type_vocab_size = 2;
    auto model = make_model<TokenEncoder>(options);
    const nn::StateDict state = nn::state_dict(model);
    EXPECT_EQ(state.at("embeddings.word_embeddings.weight").shape(), (Shape{11, 4}));
    EXPECT_EQ(state.at("embeddings.token_type_embeddings.weight").shape(), (Shape{2, 4}));
    EXPECT_EQ(state.at("embeddings.LayerNorm.weight").shape(), (Shape{4}));
    EXPECT_EQ(state.at("embeddings.projection.weight").shape(), (Shape{6, 4}));
    TokenEncoder::Embeddings tables = model.embeddings;
    tables.norm.reset();
    tables.projection.reset();
    const Tensor sum = tables({.ids = kIds});
    EXPECT_EQ(sum.shape(), (Shape{2, 5, 4}));
    const Tensor x = (*model.embeddings.projection)((*model.embeddings.norm)(sum));
    EXPECT_TRUE(same_bits(model(kIds), model.encoder(x)));
  }
  TokenEncoderOptions none = tiny_tokens();
  none.embedding_width = 0;
  EXPECT_TRUE(throws("TokenEncoder", {"embedding_width", "0"}, [&] { TokenEncoder{none}; }));
}

TEST(TokenEncoder, TokensThatAreNotVisibleAreComputedButNotRead) {
  const TokenEncoder model = make(Positions::kLearned);
  const Tensor all = model({.ids = kIds, .visible = tensor({3, 5})});
  EXPECT_TRUE(same_bits(all.select(0, 1), model({.ids = kIds}).select(0, 1)));
  const Tensor alone = model({.ids = kIds.slice(0, 0, 1).slice(1, 0, 3).contiguous()});
  EXPECT_TRUE(same_bits(all.select(0, 0).slice(0, 0, 3), alone.select(0, 0)));
  // Each of the others reads the visible ones, and itself does not change them.
  Tensor changed = kIds.clone();
  changed.select(0, 0).select(0, 4).fill(1);
  const Tensor other = model({.ids = changed, .visible = tensor({3, 5})});
  EXPECT_TRUE(same_bits(other.select(0, 0).slice(0, 0, 4), all.select(0, 0).slice(0, 0, 4)));
  EXPECT_FALSE(same_bits(other.select(0, 0).select(0, 4), all.select(0, 0).select(0, 4)));
  const EncoderResult traced = model.with_attentions({.ids = kIds, .visible = tensor({3, 5})});
  EXPECT_TRUE(same_bits(traced.output, all));
  EXPECT_EQ(max(traced.attentions[0].select(0, 0).slice(2, 3)).item(), 0);
}

TEST(TokenEncoder, DropsEmbeddedTokensInTraining) {
  TokenEncoder model = make(Positions::kSinusoidal, false, 0);
  model.encoder.norm.reset();
  model.embeddings.dropout = nn::Dropout(0.5);
  index_t dropped = 0;
  for (double value : array(model(kIds)).values) dropped += value == 0;
  EXPECT_GT(dropped, 10);
}

TEST(TokenEncoder, StartsAsItSays) {
  Rng rng(1);
  TokenEncoderOptions options = tiny_tokens(Positions::kSinusoidal, false, 0);
  options.vocab_size = 2000;
  options.encoder.d_model = 16;
  EXPECT_NEAR(Moments(TokenEncoder(options, rng).embeddings.word.weight).deviation, 0.25, 0.005);
  options.positions = Positions::kLearned;
  EXPECT_NEAR(Moments(TokenEncoder(options, rng).embeddings.word.weight).deviation, 0.02, 0.0004);
}

TEST(TokenEncoder, Errors) {
  const TokenEncoder model = make(Positions::kLearned);
  const auto refuses = [&](const char* op, const std::vector<std::string>& parts,
                           const Tokens& tokens) {
    EXPECT_TRUE(throws(op, parts, [&] { model(tokens); }));
  };
  refuses("TokenEncoder", {"(B, T)", "(3,)"}, {tensor({1, 2, 3})});
  refuses("TokenEncoder", {"(B, T)"}, {Tensor()});
  refuses("TokenEncoder", {"(2,)", "(1,)"}, {kIds, tensor({5})});
  refuses("TokenEncoder", {"6", "5"}, {kIds, tensor({5, 6})});
  refuses("TokenEncoder", {"0"}, {kIds, tensor({5, 0})});
  refuses("TokenEncoder", {"float32"}, {kIds, tensor({5.0, 3.0})});
  const auto typed = [](const Tensor& types) { return Tokens{.ids = kIds, .type_ids = types}; };
  refuses("TokenEncoder", {"type_vocab_size must be at least 1"}, typed(zeros({5}, kInt64)));
  refuses("TokenEncoder", {"types", "(2, 5)", "(4,)"}, typed(zeros({4}, kInt64)));
  const auto at = [](const Tensor& positions) {
    return Tokens{.ids = kIds, .positions = positions};
  };
  refuses("TokenEncoder", {"positions", "(5,)", "(5, 2)"}, at(zeros({5, 2}, kInt64)));
  refuses("TokenEncoder", {"positions", "float32"}, at(zeros({5})));
  refuses("TokenEncoder", {"positions must be from 0 to 8, got 9"}, at(full({5}, 9, kInt64)));
  refuses("TokenEncoder", {"visible must be from 1 to 5", "got 6"},
          {.ids = kIds, .visible = tensor({5, 6})});
  refuses("TokenEncoder", {"visible must be undefined with lengths, got both"},
          {.ids = kIds, .lengths = tensor({5, 5}), .visible = tensor({5, 5})});
  refuses("embedding", {"11"}, {tensor({{11}})});
  refuses("LearnedPositionalEncoding", {"10", "9"}, {zeros({1, 10}, kInt64)});
  TokenEncoderOptions options = tiny_tokens(Positions::kLearned, false);
  options.encoder.layers.back().batch_first = false;
  EXPECT_TRUE(throws("TokenEncoder", {"batch"}, [&] { TokenEncoder{options}; }));
}

}  // namespace
}  // namespace tessera::models
