// Attention over unpadded sequences: the bits of the padded batch and of each sequence by itself,
// forward and backward, with every mask.

#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/unpad_rows.h"
#include "tests/support/attention_run.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionPackedTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionPackedTest, each_isa(), isa_name);

/// Near the kernel's few queries, its blocks of 48 or 64 and its tiles of 64 and 128 keys.
const std::vector<index_t> kLengths = {1, 48, 0, 65, 129, 4, 64};
constexpr index_t kBatch = 7, kHeads = 2, kPaddedTokens = 131;

Tensor lengths() {
  return from_vector(kLengths);
}

/// (B, H, T, d) -> (1, H, N, d).
Tensor unpad(const Tensor& x, const Tensor& by = lengths()) {
  return unpad_rows(x.transpose(1, 2), by).transpose(0, 1).unsqueeze(0);
}
/// The inverse.
Tensor pad(const Tensor& x) {
  return pad_rows(x.squeeze(0).transpose(0, 1), lengths(), kPaddedTokens).transpose(1, 2);
}

/// x (B, ..., T, any) with `value` in the rows of absent tokens.
Tensor filled(const Tensor& x, double value) {
  Tensor y = x.clone();
  for (index_t b = 0; b < kBatch; ++b) {
    y.select(0, b).slice(-2, kLengths[static_cast<std::size_t>(b)]).fill(value);
  }
  return y;
}

struct Case {
  std::string name;
  MaskParts mask;
  double dropout = 0;
};

std::vector<Case> cases() {
  const Tensor keep = random_tensor({kBatch, 1, kPaddedTokens, kPaddedTokens}, kBool, 4);
  const Tensor bias = random_tensor({kHeads, kPaddedTokens, kPaddedTokens}, kFloat32, 5);
  Tensor own = random_tensor({kBatch, kHeads, kPaddedTokens, kPaddedTokens}, kFloat32, 6);
  own.select(2, 3).fill(-std::numeric_limits<double>::infinity());
  return {{"no mask", {}},
          {"causal", {.causal = true}, 0.3},
          {"window", {.window = 9}},
          {"causal window", {.causal = true, .window = 70}},
          {"keep", {.keep = keep}},
          {"shared bias", {.bias = bias}},
          {"bias, dropout", {.bias = own}, 0.2},
          {"all", {.causal = true, .window = 60, .keep = keep, .bias = own}, 0.1}};
}

/// Inputs with NaN in place of padding, which must not be read.
AttentionInputs packed_inputs(DType dtype) {
  const AttentionInputs x({kBatch, kHeads, kPaddedTokens, kPaddedTokens, 17, 33}, dtype);
  return {filled(x.q, kNaN), filled(x.k, kNaN), filled(x.v, kNaN), filled(x.d_out, 0)};
}

DropoutOptions dropout_of(const Case& c) {
  return {.p = c.dropout, .key = 77};
}

/// Results (B, H, T, ...) with zeros for absent tokens.
AttentionResults unpadded(const AttentionInputs& x, const Case& c) {
  const UnpaddedRows rows(lengths(), kPaddedTokens);
  AttentionResults y = run_attention(x.each([](const Tensor& t) { return unpad(t); }), c.mask,
                                     {.dropout = dropout_of(c), .unpadded = rows});
  for (Tensor* each : {&y.output, &y.dq, &y.dk, &y.dv}) *each = pad(*each);
  return y;
}

AttentionResults padded(const AttentionInputs& x, const Case& c) {
  MaskParts mask = c.mask;
  mask.lengths = kLengths;
  AttentionInputs finite = x.each([](const Tensor& t) { return filled(t, 1); });
  finite.d_out = x.d_out;
  AttentionResults y = run_attention(finite, mask, {.dropout = dropout_of(c)});
  y.output = filled(y.output, 0);
  y.weights = filled(y.weights, 0);
  return y;
}

TEST_P(AttentionPackedTest, HasTheBitsOfThePaddedBatch) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const AttentionInputs x = packed_inputs(dtype);
    for (const Case& c : cases()) {
      SCOPED_TRACE(str_cat(c.name, ", ", dtype));
      set_thread_count(1);
      const AttentionResults want = padded(x, c);
      for (const int threads : c.name == "all" ? std::vector{1, 2, 3, 7} : std::vector{2}) {
        set_thread_count(threads);
        expect_same(unpadded(x, c), want);
      }
      set_thread_count(0);
    }
  }
}

TEST_P(AttentionPackedTest, EachSequenceIsAsAlone) {
  const AttentionInputs x = packed_inputs(kFloat32);
  const Tensor bias = random_tensor({kHeads, kPaddedTokens, kPaddedTokens}, kFloat32, 5);
  const auto mask = [&](index_t tokens) {
    return causal_mask() & window_mask(60) &
           additive_mask(bias.slice(1, 0, tokens).slice(2, 0, tokens));
  };
  const AttentionOptions options = {.need_weights = AttentionRequest{.heads = {{1}}}};
  AttentionOptions of_unpadded = options;
  of_unpadded.unpadded = UnpaddedRows(kLengths);
  // By default the longest sequence gives the number of queries and keys.
  const AttentionResult all = attention(unpad(x.q), unpad(x.k), unpad(x.v), mask(129), of_unpadded);
  EXPECT_EQ(all.weights.shape(), (Shape{kBatch, 1, 129, 129}));
  const Tensor output = pad(all.output);
  for (index_t b = 0; b < kBatch; ++b) {
    const index_t tokens = kLengths[static_cast<std::size_t>(b)];
    const auto own = [&](const Tensor& t) { return t.slice(0, b, b + 1).slice(2, 0, tokens); };
    const AttentionResult alone = attention(own(x.q), own(x.k), own(x.v), mask(tokens), options);
    EXPECT_TRUE(same_bits(own(output), alone.output)) << tokens;
    EXPECT_TRUE(same_bits(own(all.weights).slice(3, 0, tokens), alone.weights)) << tokens;
  }
}

// NaN and infinities stay in their sequence.
TEST_P(AttentionPackedTest, ShowsNothingOfOtherSequences) {
  const AttentionInputs x = packed_inputs(kFloat32);
  const auto results = [&](double value) {
    const AttentionInputs y = x.each([=](const Tensor& t) {
      Tensor own = t.clone();
      own.select(0, 4).slice(1, 100, 129).fill(value);
      return own;
    });
    AttentionResults all = unpadded(y, {});
    for (Tensor* each : {&all.output, &all.weights, &all.dq, &all.dk, &all.dv}) {
      *each = each->clone();
      each->select(0, 4).fill(0);
    }
    return all;
  };
  expect_same(results(kNaN), results(1));
}

TEST_P(AttentionPackedTest, GradientsOfWeightsAgreeWithDifferences) {
  const Tensor keep = random_tensor({4, 1, 3, 3}, kBool, 4);
  const Tensor v = values({1, 2, 6, 4}, 3);
  const AttentionOptions options = {.need_weights = AttentionRequest{},
                                    .dropout = {.p = 0.2, .key = 5},
                                    .unpadded = UnpaddedRows({3, 0, 1, 2})};
  for (const AttentionMask& mask : {AttentionMask(), causal_mask(), keep_mask(keep)}) {
    const Function weights = [&](const Tensors& x) {
      return attention(x[0], x[1], v, mask, options).weights;
    };
    EXPECT_TRUE(gradcheck(weights, {values({1, 2, 6, 3}, 1), values({1, 2, 6, 3}, 2)}));
  }
}

TEST(AttentionPacked, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({1, 2, 6, 3});
  const AttentionOptions unpadded = {.unpadded = UnpaddedRows({4, 2})};
  const auto attend = [&](const Tensor& q, const UnpaddedRows& by) {
    attention(q, q, q, {}, {.unpadded = by});
  };
  fails("attention", {"5 tokens", "(1, 2, 6, 3)"}, [&] { attend(x, UnpaddedRows({4, 1})); });
  fails("attention", "4 axes", [&] { attend(x.squeeze(0), unpadded.unpadded); });
  fails("attention", {"6 tokens", "(2, 2, 6, 3)"}, [&] {
    attend(zeros({2, 2, 6, 3}), unpadded.unpadded);
  });
  fails("attention", "(B, H, Tq, Tk) = (2, 2, 4, 4)", [&] {
    attention(x, x, x, keep_mask(ones({6, 6}, kBool)), unpadded);
  });
  fails("attention", "query must be in [0, 4), got 4", [&] {
    attention(x, x, x, {},
              {.need_weights = AttentionRequest{.queries = {{4}}}, .unpadded = unpadded.unpadded});
  });
  fails("unpad_rows", {"at most the 3 rows", "got 4"}, [] { UnpaddedRows({4, 2}, 3); });
}

// Lengths may be given in both ways: they mask the tokens that unpadding removes.
TEST_P(AttentionPackedTest, ALengthMaskChangesNoBit) {
  const AttentionInputs x = packed_inputs(kFloat32);
  const AttentionOptions options = {.unpadded = UnpaddedRows(lengths(), kPaddedTokens)};
  const auto output = [&](const AttentionMask& mask) {
    return attention(unpad(x.q), unpad(x.k), unpad(x.v), mask, options).output;
  };
  EXPECT_TRUE(same_bits(output(length_mask(kLengths)), output({})));
}

}  // namespace
}  // namespace tessera::test
