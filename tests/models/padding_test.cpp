// Padding is not computed: for all kinds of models a batch of mixed lengths has the bits of each
// sequence by itself and of the padded batch, and its gradients do not depend on the amount of
// padding.
#include "tessera/models/models.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using namespace test;

constexpr index_t kWidth = 24, kPaddedTokens = 66, kWords = 31;
const std::vector<index_t> kPaddedLengths = {5, 66, 1, 49, 64};
constexpr index_t kBatch = 5;

using PaddingTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, PaddingTest, each_isa(), isa_name);

struct Subject {
  std::string name;
  TokenEncoderOptions options;
};

/// Every way in which a token's result depends on its position or its neighbours.
std::vector<Subject> subjects(double dropout, bool checkpoint = false) {
  const EncoderLayerOptions plain = {.d_model = kWidth,
                                     .nhead = 2,
                                     .dim_feedforward = 20,
                                     .dropout = dropout,
                                     .gradient_checkpoint = checkpoint};
  EncoderLayerOptions rotary = plain;
  rotary.norm_first = true;
  rotary.window = 9;
  rotary.rotary = {{.base = 100}};
  rotary.gated = true;
  EncoderLayerOptions biased = plain;
  biased.relative_position = {.buckets = 8, .max_distance = 20};
  EncoderLayerOptions sloped = plain;
  sloped.alibi = true;
  const auto made = [&](const EncoderLayerOptions& layer, Positions positions) {
    return TokenEncoderOptions{.vocab_size = kWords,
                               .encoder = {.layers = repeat_layer(layer, 2)},
                               .positions = positions,
                               .max_positions = 80,
                               .dropout = dropout,
                               .embedding_norm = true};
  };
  TokenEncoderOptions counted = made(plain, Positions::kLearned);
  counted.pad_token_id = 1;
  counted.type_vocab_size = 2;
  TokenEncoderOptions narrow = made(rotary, Positions::kNone);
  narrow.embedding_width = 10;
  TokenEncoderOptions shared = made(sloped, Positions::kNone);
  shared.encoder.relative_position = {.buckets = 8, .max_distance = 20};
  return {{"sinusoidal, bias of a layer", made(biased, Positions::kSinusoidal)},
          {"learned", made(plain, Positions::kLearned)},
          {"counted, types", counted},
          {"rotary, window, narrow tables", narrow},
          {"ALiBi, bias of all", shared}};
}

TokenEncoder make(const TokenEncoderOptions& options) {
  Rng rng(3);
  return TokenEncoder(options, rng);
}

/// A batch whose rows have `tokens` positions; the contents of padding depend on `seed`.
Tokens batch(bool types, index_t tokens = kPaddedTokens, std::uint64_t seed = 1) {
  const Tensor ids = random_tensor({kBatch, tokens}, kInt64, seed, 2, kWords);
  const Tensor real = random_tensor({kBatch, kPaddedTokens}, kInt64, 50, 2, kWords);
  for (index_t b = 0; b < kBatch; ++b) {
    const index_t length = kPaddedLengths[static_cast<std::size_t>(b)];
    ids.select(0, b).slice(0, 0, length).copy_from(real.select(0, b).slice(0, 0, length));
  }
  Tokens result = {.ids = ids, .lengths = from_vector(kPaddedLengths)};
  if (types) {
    result.type_ids = zeros({tokens}, kInt64);
    result.type_ids.slice(0, 3).fill(1);
  }
  return result;
}

/// Sequence b of a batch, without padding.
Tokens alone(const Tokens& all, index_t b) {
  const index_t length = kPaddedLengths[static_cast<std::size_t>(b)];
  Tokens own = {.ids = all.ids.slice(0, b, b + 1).slice(1, 0, length)};
  if (all.type_ids.defined()) own.type_ids = all.type_ids.slice(0, 0, length);
  return own;
}

TEST_P(PaddingTest, EachSequenceIsAsAlone) {
  for (const Subject& subject : subjects(0)) {
    SCOPED_TRACE(subject.name);
    TokenEncoder model = make(subject.options);
    nn::eval(model);
    const Tokens tokens = batch(subject.options.type_vocab_size > 0);
    const EncoderResult got = model.with_attentions(tokens);
    for (const int threads : {1, 2, 3, 7}) {
      set_thread_count(threads);
      EXPECT_TRUE(same_bits(model(tokens), got.output)) << threads;
    }
    set_thread_count(0);
    EXPECT_TRUE(same_bits(got.output, without_padding(got.output, kPaddedLengths)));
    EXPECT_EQ(got.attentions[1].shape(), (Shape{kBatch, 2, kPaddedTokens, kPaddedTokens}));
    for (index_t b = 0; b < kBatch; ++b) {
      const index_t length = kPaddedLengths[static_cast<std::size_t>(b)];
      const EncoderResult want = model.with_attentions(alone(tokens, b));
      EXPECT_TRUE(same_bits(got.output.slice(0, b, b + 1).slice(1, 0, length), want.output)) << b;
      const Tensor weights = zeros({1, 2, kPaddedTokens, kPaddedTokens});
      weights.slice(2, 0, length).slice(3, 0, length).copy_from(want.attentions[1]);
      EXPECT_TRUE(same_bits(got.attentions[1].slice(0, b, b + 1), weights)) << b;
    }
  }
}

/// The output and the gradients of all parameters, by name.
std::vector<std::pair<std::string, Tensor>> trained(TokenEncoder& model, const Tokens& tokens,
                                                    index_t seen = kPaddedTokens) {
  nn::zero_grad(model);
  nn::set_requires_grad(model);
  manual_seed(5);
  Tape tape;
  const Tensor y = model(tokens).slice(1, 0, seen);
  const Tensor factors =
      without_padding(random_tensor({kBatch, seen, kWidth}, kFloat32, 8), kPaddedLengths);
  tape.backward(sum(y * factors));
  std::vector<std::pair<std::string, Tensor>> found = {{"output", y.detach()}};
  nn::for_each_parameter(model, [&](const std::string& name, Tensor& p) {
    found.emplace_back(name, p.grad().defined() ? p.grad().clone() : zeros_like(p));
  });
  return found;
}

TEST_P(PaddingTest, GradientsDoNotDependOnPaddingOrThreadsOrCheckpoints) {
  for (const double dropout : {0.0, 0.2}) {
    const std::vector<Subject> plain = subjects(dropout);
    const std::vector<Subject> checkpointed = subjects(dropout, true);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      SCOPED_TRACE(plain[i].name);
      TokenEncoder model = make(plain[i].options);
      const bool types = plain[i].options.type_vocab_size > 0;
      const auto want = trained(model, batch(types));
      const auto expect = [&](const auto& got, const char* what) {
        for (std::size_t n = 0; n < want.size(); ++n) {
          EXPECT_TRUE(same_bits(got[n].second, want[n].second)) << what << ", " << want[n].first;
        }
      };
      expect(trained(model, batch(types, 75, 2)), "more padding");
      if (dropout == 0) continue;
      set_thread_count(3);
      expect(trained(model, batch(types)), "threads");
      set_thread_count(0);
      TokenEncoder another = make(checkpointed[i].options);
      expect(trained(another, batch(types)), "gradient_checkpoint");
    }
  }
}

// The computation with padding, used with a mask of keys.
TEST_P(PaddingTest, AStackHasTheBitsOfThePaddedBatchBesideOtherMasks) {
  const Tensor x = random_tensor({kBatch, kPaddedTokens, kWidth}, kFloat32, 3);
  const Tensor keep = random_tensor({kBatch, 1, kPaddedTokens, kPaddedTokens}, kBool, 4);
  const Tensor bias = random_tensor({2, kPaddedTokens, kPaddedTokens}, kFloat32, 5);
  const Tensor real = real_tokens(from_vector(kPaddedLengths), kPaddedTokens);
  const Tensor positions = random_tensor({kBatch, kPaddedTokens}, kInt64, 6, 0, 80);
  const auto computed = [&](Encoder& stack, const AttentionMask& mask, bool given) {
    nn::zero_grad(stack);
    nn::set_requires_grad(stack);
    const Tensor in = x.clone().set_requires_grad();
    Tape tape;
    const Tensor y = stack({in, mask, given ? positions : Tensor()});
    tape.backward(sum(y * without_padding(random_tensor(y.shape(), kFloat32, 8), kPaddedLengths)));
    std::vector<Tensor> found = {without_padding(y.detach(), kPaddedLengths), in.grad()};
    nn::for_each_parameter(stack, [&](const std::string& name, Tensor& p) {
      // A sum over tokens by sixteen lanes, as for a bias, depends on their positions.
      if (p.rank() == 2 && name.find("relative") == std::string::npos) found.push_back(p.grad());
    });
    return found;
  };
  for (const Subject& subject : subjects(0)) {
    Rng rng(3);
    Encoder stack(subject.options.encoder, rng);
    for (const AttentionMask& also :
         {AttentionMask(), keep_mask(keep), causal_mask() & additive_mask(bias)}) {
      for (const bool given : {false, also.causal()}) {
        SCOPED_TRACE(subject.name);
        const auto want = computed(stack, also & keep_keys_mask(real), given);
        const auto got = computed(stack, also & length_mask(kPaddedLengths), given);
        for (std::size_t i = 0; i < want.size(); ++i) {
          EXPECT_TRUE(same_bits(got[i], want[i])) << "number " << i;
        }
      }
    }
  }
}

TEST(Padding, LengthsOfAStackAreFromZeroToItsTokens) {
  Rng rng(3);
  Encoder stack(subjects(0)[1].options.encoder, rng);
  nn::eval(stack);
  const Tensor x = random_tensor({3, 7, kWidth}, kFloat32, 3);
  const Tensor y = stack(x, length_mask({0, 7, 4}));
  EXPECT_TRUE(same_bits(y.select(0, 0), zeros({7, kWidth})));
  EXPECT_TRUE(same_bits(y.slice(0, 1, 2), stack(x.slice(0, 1, 2))));
  EXPECT_TRUE(same_bits(y.slice(0, 2, 3).slice(1, 0, 4), stack(x.slice(0, 2, 3).slice(1, 0, 4))));
  EXPECT_TRUE(same_bits(stack(x, length_mask({0, 0, 0})), zeros({3, 7, kWidth})));
  EXPECT_TRUE(throws("unpad_rows", {"at most the 7 rows", "got 9"}, [&] {
    stack(x, length_mask({0, 9, 4}));
  }));
  EXPECT_TRUE(throws("attention", {"length_mask must have 3 lengths", "got 2"}, [&] {
    stack(x, length_mask({1, 2}));
  }));
}

// As many tokens as sequences, so that only batch_first distinguishes the axes.
TEST(Padding, TokensFirstHaveTheSameBits) {
  EncoderOptions options = subjects(0)[1].options.encoder;
  Rng rng(3);
  Encoder stack(options, rng);
  for (EncoderLayerOptions& layer : options.layers) layer.batch_first = false;
  Rng again(3);
  Encoder time_first(options, again);
  nn::eval(stack);
  nn::eval(time_first);
  const std::vector<index_t> lengths = {5, 1, 3, 4, 2};
  const Tensor x = random_tensor({5, 5, kWidth}, kFloat32, 3);
  const Tensor y = time_first(x.transpose(0, 1), length_mask(lengths)).transpose(0, 1);
  EXPECT_TRUE(same_bits(without_padding(y, lengths), stack(x, length_mask(lengths))));
}

}  // namespace
}  // namespace tessera::models
