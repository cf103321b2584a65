// The weights of attention: for all heads and queries or chosen ones, with the bits of the used
// weights.

#include "tessera/nn/attention.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/random.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionCaptureTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionCaptureTest, each_isa(), isa_name);

using Numbers = std::vector<index_t>;

AttentionOptions of(AttentionRequest request, double dropout = 0) {
  return {.need_weights = std::move(request), .dropout = {.p = dropout, .key = 77}};
}

/// Two sequences, three heads, several tiles of keys; scores grow along the keys, so that later
/// tiles raise the maxima of earlier ones.
struct Inputs {
  Tensor q, k, v;

  explicit Inputs(DType dtype, index_t queries = 100, index_t keys = 300)
      : q(random_tensor({2, 3, queries, 9}, dtype, 1)),
        k(random_tensor({2, 3, keys, 9}, dtype, 2)),
        v(random_tensor({2, 3, keys, 5}, dtype, 3)) {
    for (index_t j = 0; j < keys; ++j) {
      Tensor row = k.select(2, j);
      row.copy_from(mul(row, 1 + 0.01 * static_cast<double>(j)));
    }
  }
};

struct NamedMask {
  std::string name;
  AttentionMask mask;
};

std::vector<NamedMask> masks(index_t queries, index_t keys) {
  return {{"none", {}},
          {"causal", causal_mask()},
          {"window", window_mask(20)},
          {"causal window", causal_mask() & window_mask(60)},
          {"lengths", length_mask({keys, 131})},
          {"no key", length_mask({0, 7})},
          {"keep", keep_mask(random_tensor({2, 1, queries, keys}, kBool, 4))},
          {"bias", additive_mask(random_tensor({queries, keys}, kFloat32, 5))}};
}

TEST_P(AttentionCaptureTest, WeightsAreTheOutputForValuesOfTheIdentity) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Inputs inputs(dtype);
    const Tensor identity = eye(300, 300, dtype).expand({2, 3, 300, 300});
    for (const auto& [name, mask] : masks(100, 300)) {
      for (const double dropout : {0.0, 0.3}) {
        SCOPED_TRACE(str_cat(name, ", dropout ", dropout));
        const AttentionResult got = attention(inputs.q, inputs.k, identity, mask, of({}, dropout));
        EXPECT_TRUE(same_bits(got.weights, got.output.contiguous()));
      }
    }
  }
}

// A row that contains a NaN is NaN for each key, masked or not, on either side of a block.
TEST_P(AttentionCaptureTest, ARowOfNanIsNanForEveryKey) {
  for (double bad : {kNaN, kInf}) {
    for (const auto& [name, mask] : masks(100, 300)) {
      if (name == "no key") continue;
      SCOPED_TRACE(name);
      Inputs inputs(kFloat32);
      for (index_t query : {0, 47, 50, 99}) inputs.q.select(2, query).fill(bad);
      const AttentionResult got = attention(inputs.q, inputs.k, inputs.v, mask, of({}));
      for (index_t query : {0, 47, 50, 99}) {
        EXPECT_TRUE(all(isnan(got.weights.select(2, query))).item<bool>()) << query;
        EXPECT_TRUE(all(isnan(got.output.select(2, query))).item<bool>()) << query;
      }
      EXPECT_FALSE(any(isnan(got.weights.select(2, 1))).item<bool>());
    }
  }
}

TEST_P(AttentionCaptureTest, ChosenWeightsAreThoseOfAll) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Inputs inputs(dtype);
    for (const auto& [name, mask] : masks(100, 300)) {
      SCOPED_TRACE(name);
      const double dropout = dtype == kFloat32 ? 0.3 : 0;
      const Tensor all = attention(inputs.q, inputs.k, inputs.v, mask, of({}, dropout)).weights;
      for (const Numbers& heads : {Numbers{2, 0}, Numbers{1}, Numbers{1, 1}}) {
        for (const Numbers& queries : {Numbers{99, 0, 47, 48}, Numbers{64}, Numbers{3, 3}}) {
          const AttentionResult got = attention(inputs.q, inputs.k, inputs.v, mask,
                                                of({.heads = heads, .queries = queries}, dropout));
          const Tensor of_heads = index_select(all, 1, from_vector(heads));
          EXPECT_TRUE(same_bits(got.weights, index_select(of_heads, 2, from_vector(queries))));
          EXPECT_TRUE(same_bits(got.output, attention(inputs.q, inputs.k, inputs.v, mask,
                                                      {.dropout = {.p = dropout, .key = 77}})
                                                .output));
        }
      }
    }
  }
}

TEST_P(AttentionCaptureTest, EitherListMayBeAbsent) {
  const Inputs inputs(kFloat32);
  const Tensor all = attention(inputs.q, inputs.k, inputs.v, {}, of({})).weights;
  const auto weights = [&](const AttentionRequest& request) {
    return attention(inputs.q, inputs.k, inputs.v, {}, of(request)).weights;
  };
  EXPECT_TRUE(same_bits(weights({.heads = Numbers{1}}), all.slice(1, 1, 2).contiguous()));
  EXPECT_TRUE(same_bits(weights({.queries = Numbers{7}}), all.slice(2, 7, 8).contiguous()));
  EXPECT_EQ(weights({.heads = Numbers{}}).shape(), (Shape{2, 0, 100, 300}));
  EXPECT_EQ(weights({.queries = Numbers{}}).shape(), (Shape{2, 3, 0, 300}));
  const Tensor flat = attention(inputs.q.select(1, 2), inputs.k.select(1, 2), inputs.v.select(1, 2),
                                {}, of({.queries = Numbers{5, 80}}))
                          .weights;
  EXPECT_TRUE(same_bits(flat.select(1, 1), all.select(1, 2).select(1, 80).contiguous()));
}

TEST_P(AttentionCaptureTest, ModulesPassTheChoiceOn) {
  manual_seed(1);
  nn::MultiHeadAttention attend({.embed_dim = 12, .num_heads = 3, .dropout = 0.5});
  const Tensor x = random_tensor({2, 9, 12}, kFloat32, 3);
  const AttentionRequest chosen = {.heads = Numbers{2, 0}, .queries = Numbers{8, 1}};
  AttentionRequest of_average = chosen;
  of_average.averaged = true;
  const auto pick = [](const Tensor& all) {
    return index_select(index_select(all, 1, tensor({2, 0})), 2, tensor({8, 1}));
  };
  const auto check = [&] {
    manual_seed(5);
    const Tensor all = attend({.query = x, .need_weights = AttentionRequest{}}).weights;
    manual_seed(5);
    const Tensor some = attend({.query = x, .need_weights = chosen}).weights;
    manual_seed(5);
    const Tensor averaged = attend({.query = x, .key = x, .need_weights = of_average}).weights;
    EXPECT_TRUE(same_bits(some, pick(all)));
    EXPECT_TRUE(same_bits(averaged, mean(some, {1})));
  };
  check();  // while training: the weights after dropout
  nn::eval(attend);
  check();
}

TEST_P(AttentionCaptureTest, AveragesAreMeansOverTheHeadsChosen) {
  for (DType dtype : {kFloat32, kFloat64}) {
    const Inputs inputs(dtype);
    const auto weights = [&](const AttentionRequest& request) {
      return attention(inputs.q, inputs.k, inputs.v, causal_mask(), of(request)).weights;
    };
    const Tensor all = weights({});
    const Tensor some = weights({.heads = Numbers{2, 0}, .queries = Numbers{5, 80}});
    EXPECT_TRUE(same_bits(weights({.averaged = true}), mean(all, {1})));
    EXPECT_TRUE(
        same_bits(weights({.heads = Numbers{2, 0}, .queries = Numbers{5, 80}, .averaged = true}),
                  mean(some, {1})));
    EXPECT_TRUE(same_bits(requested_weights(all, {.heads = Numbers{1}, .averaged = true}),
                          all.select(1, 1).contiguous()));
  }
}

// A request is about one layer here; stacks of layers read `layers`.
TEST(AttentionCapture, IgnoresLayers) {
  const Tensor x = random_tensor({2, 3, 5, 4}, kFloat32, 1);
  const Tensor none = attention(x, x, x, {}, of({.layers = Numbers{}})).weights;
  EXPECT_TRUE(same_bits(none, attention(x, x, x, {}, of({})).weights));
}

TEST(AttentionCapture, Errors) {
  const Tensor x = zeros({2, 3, 5, 4});
  const auto with = [](const Tensor& q, const AttentionRequest& request) {
    return [=] { attention(q, q, q, {}, of(request)); };
  };
  fails("attention", {"head", "3"}, with(x, {.heads = Numbers{0, 3}}));
  fails("attention", {"head", "-1"}, with(x, {.heads = Numbers{-1}}));
  fails("attention", {"query", "5"}, with(x, {.queries = Numbers{5}}));
  fails("attention", "axis of heads", with(x.select(1, 0), {.heads = Numbers{0}}));
  fails("attention", "axis of heads", with(x.select(1, 0), {.averaged = true}));
  fails("attention", {"heads must be at least 1", "got 0"},
        with(x, {.heads = Numbers{}, .averaged = true}));
}

}  // namespace
}  // namespace tessera::test
