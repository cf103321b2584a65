// The gradients of attention, fused and made of ops, against differences; and that both agree.
#include <gtest/gtest.h>

#include <limits>

#include "nn/attention.h"
#include "nn/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/ops/ops.h"
#include "tests/errors.h"
#include "tests/gradcheck.h"

namespace tessera {
namespace {

using test::gradcheck;
using test::Tensors;
using test::throws;
using test::values;

constexpr double kInf = std::numeric_limits<double>::infinity();

/// q, k and v of two batches and three heads; more keys than queries, and wider values.
Tensors inputs() {
  return {values({2, 3, 4, 3}, 1), values({2, 3, 6, 3}, 2), values({2, 3, 6, 5}, 3)};
}

struct NamedMask {
  const char* name;
  AttentionMask mask;
};

std::vector<NamedMask> masks() {
  Tensor keep = ones({4, 6}, kBool);
  keep.select(1, 2).fill(0);
  keep.select(0, 1).fill(0);  // a query without keys
  Tensor bias = values({3, 1, 6}, 4);
  bias.select(2, 4).fill(-kInf);
  return {{"none", {}},
          {"causal", causal_mask()},
          {"lengths", length_mask({5, 0})},
          {"keep", keep_mask(keep)},
          {"bias", additive_mask(bias)},
          {"all", causal_mask() & length_mask({5, 2}) & keep_mask(keep) & additive_mask(bias)}};
}

TEST(AttentionGradients, AreThoseOfDifferences) {
  for (const NamedMask& m : masks()) {
    EXPECT_TRUE(gradcheck(
        [&](const Tensors& in) { return attention(in[0], in[1], in[2], m.mask).output; }, inputs()))
        << m.name;
  }
  EXPECT_TRUE(gradcheck(
      [](const Tensors& in) { return attention(in[0], in[1], in[2], {}, {.scale = 0.7}).output; },
      {values({4, 3}, 5), values({5, 3}, 6), values({5, 2}, 7)}));
}

TEST(AttentionGradients, OfHeadsOfOneProjection) {
  EXPECT_TRUE(gradcheck(
      [](const Tensors& in) {
        const std::vector<Tensor> parts = in[0].chunk(3, -1);
        return nn::merge_heads(attention(nn::split_heads(parts[0], 2), nn::split_heads(parts[1], 2),
                                         nn::split_heads(parts[2], 2), causal_mask())
                                   .output);
      },
      {values({2, 5, 18}, 8)}));
}

TEST(AttentionGradients, OfABias) {
  for (const Shape& shape : {Shape{2, 3, 4, 6}, Shape{3, 1, 6}, Shape{4, 1}, Shape{1}}) {
    EXPECT_TRUE(gradcheck(
        [](const Tensors& in) {
          return attention(in[0], in[1], in[2], causal_mask() & additive_mask(in[3])).output;
        },
        {inputs()[0], inputs()[1], inputs()[2], values(shape, 9)}))
        << shape;
  }
}

TEST(AttentionGradients, WeightsMadeOfOpsAreTheFusedOnes) {
  for (const NamedMask& m : masks()) {
    const Tensors in = inputs();
    const Tensor want = attention(in[0], in[1], in[2], m.mask, {.need_weights = true}).weights;
    const Tensor got = attention_weights(in[0], in[1], m.mask);
    EXPECT_LE(max(abs(got - want)).item<double>(), 1e-14) << m.name;
    EXPECT_TRUE(gradcheck([&](const Tensors& x) { return attention_weights(x[0], x[1], m.mask); },
                          {in[0], in[1]}))
        << m.name;
  }
}

TEST(AttentionGradients, WhatIsMaskedShowsInNone) {
  Tensors in = inputs();
  for (std::size_t i : {1U, 2U}) in[i].select(2, 5).fill(std::numeric_limits<double>::quiet_NaN());
  for (Tensor& x : in) x.set_requires_grad();
  const auto check = [&](const Tensor& output) {
    EXPECT_TRUE(all(eq(output, output)).item<bool>());
    for (Tensor& x : in) {
      EXPECT_TRUE(all(eq(x.grad(), x.grad())).item<bool>());
      x.zero_grad();
    }
  };
  {
    Tape tape;
    const Tensor output = attention(in[0], in[1], in[2], length_mask({5, 4})).output;
    tape.backward(sum(output));
    check(output);
  }
  manual_seed(1);
  const nn::ScaledDotProductAttention attend(0.5);
  Tape tape;
  const Tensor output = attend(in[0], in[1], in[2], length_mask({5, 4})).output;
  tape.backward(sum(output));
  check(output);
}

TEST(AttentionGradients, WeightsOfTheFusedOpHaveNone) {
  Tensors in = inputs();
  in[0].set_requires_grad();
  Tape tape;
  EXPECT_TRUE(throws("attention", {"weights", "no gradient"},
                     [&] { attention(in[0], in[1], in[2], {}, {.need_weights = true}); }));
  const NoGrad pause;
  EXPECT_NO_THROW(attention(in[0], in[1], in[2], {}, {.need_weights = true}));
}

}  // namespace
}  // namespace tessera
