// Window attention: windows of all keys and of one key, elements outside the window, queries
// without keys, and the same bits for all batches, paddings and threads. The values are in
// attention_test.cpp. The kernel's ranges of keys have their own tests, in
// attention_backward_kernels_test.cpp.

#include <iostream>

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tests/support/attention_run.h"
#include "tests/support/digest.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionWindowTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionWindowTest, each_isa(), isa_name);

TEST_P(AttentionWindowTest, OfAllKeysIsNone) {
  const AttentionInputs x({1, 2, 131, 140, 24, 17});
  for (const bool causal : {false, true}) {
    const AttentionResults want = run_attention(x, {.causal = causal});
    for (index_t window : {index_t{139}, index_t{5000}, std::numeric_limits<index_t>::max()}) {
      expect_same(run_attention(x, {.causal = causal, .window = window}), want);
    }
  }
}

TEST_P(AttentionWindowTest, OfNothingBesidesIsTheValueItself) {
  const AttentionInputs x({1, 2, 131, 131, 24, 17});
  EXPECT_TRUE(same_bits(x.attend({.window = 0}).output.contiguous(), x.v));
}

// An element that is not finite affects only the queries that see it; all other bits do not change.
// The gradients of a key and a value are unaffected if no such query sees them.
TEST_P(AttentionWindowTest, NothingLeaksFromOutside) {
  constexpr index_t kTokens = 300, kWindow = 20;
  const AttentionInputs inputs({1, 2, kTokens, kTokens, 24, 17});
  const AttentionResults clean = run_attention(inputs, {.window = kWindow});
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), kInf}) {
    for (index_t key : {0, 47, 128, 250, 299}) {
      SCOPED_TRACE(str_cat("key ", key, " is ", bad));
      const AttentionInputs x = inputs.each([](const Tensor& each) { return each.clone(); });
      x.k.select(2, key).fill(bad);
      x.v.select(2, key).fill(bad);
      const AttentionResults got = run_attention(x, {.window = kWindow});
      const auto expect_apart = [&](const Tensor& a, const Tensor& b, index_t reach,
                                    const char* what) {
        const index_t before = std::max<index_t>(key - reach, 0);
        const index_t after = std::min(key + reach + 1, kTokens);
        EXPECT_TRUE(same_bits(a.slice(2, 0, before), b.slice(2, 0, before))) << what;
        EXPECT_TRUE(same_bits(a.slice(2, after), b.slice(2, after))) << what;
      };
      expect_apart(got.output, clean.output, kWindow, "output");
      expect_apart(got.weights, clean.weights, kWindow, "weights");
      expect_apart(got.dq, clean.dq, kWindow, "dq");
      expect_apart(got.dk, clean.dk, 2 * kWindow, "dk");
      expect_apart(got.dv, clean.dv, 2 * kWindow, "dv");
      const Tensor seen = got.output.slice(2, std::max<index_t>(key - kWindow, 0),
                                           std::min(key + kWindow + 1, kTokens));
      EXPECT_TRUE(all(isnan(seen)).item<bool>());
    }
  }
}

TEST_P(AttentionWindowTest, WhoSeesNothingGetsZeros) {
  // Queries after the last key that they could see, and keys before and after all queries' windows.
  const auto results = [](index_t queries, index_t keys, const MaskParts& mask) {
    return run_attention(AttentionInputs({1, 1, queries, keys, 24, 17}), mask);
  };
  const auto expect_zeros = [](const Tensor& x) {
    EXPECT_TRUE(same_bits(x.contiguous(), zeros(x.shape())));
  };
  const AttentionResults few_keys = results(300, 40, {.window = 5});
  for (const Tensor& x : {few_keys.output, few_keys.weights, few_keys.dq}) {
    expect_zeros(x.slice(2, 45));
  }
  const AttentionResults few_queries = results(40, 300, {.window = 5});
  for (const Tensor& x : {few_queries.dk, few_queries.dv}) expect_zeros(x.slice(2, 45));
  const AttentionResults short_one = results(300, 300, {.window = 5, .lengths = {100}});
  expect_zeros(short_one.output.slice(2, 105));
  EXPECT_FALSE(any(isnan(short_one.dk)).item<bool>());
}

/// Output and gradients of sequences of 200 tokens, `batch` at a time and padded.
std::string digest_of(DType dtype, index_t batch, index_t padding, bool causal, int threads) {
  const auto inputs = [dtype](index_t sequences, index_t tokens) {
    const auto random = [=](index_t width, std::uint64_t seed) {
      return random_tensor({sequences, 3, tokens, width}, dtype, seed);
    };
    return AttentionInputs(random(24, 1), random(24, 2), random(17, 3), {});
  };
  const AttentionInputs all = inputs(4, 200);
  set_thread_count(threads);
  Digest digest;
  for (index_t b = 0; b < 4; b += batch) {
    AttentionInputs x = inputs(batch, 200 + padding);
    for (Tensor AttentionInputs::*each :
         {&AttentionInputs::q, &AttentionInputs::k, &AttentionInputs::v}) {
      (x.*each).slice(2, 0, 200).copy_from((all.*each).slice(0, b, b + batch));
    }
    AttentionMask mask = window_mask(70);
    if (causal) mask = mask & causal_mask();
    if (padding > 0) mask = mask & length_mask(full({batch}, 200, kInt64));
    for (Tensor AttentionInputs::*each :
         {&AttentionInputs::q, &AttentionInputs::k, &AttentionInputs::v}) {
      (x.*each).set_requires_grad();
    }
    Tape tape;
    const Tensor y = attention(x.q, x.k, x.v, mask).output.slice(2, 0, 200);
    tape.backward(sum(square(y)));
    for (index_t i = 0; i < batch; ++i) {
      for (const Tensor& each : {y, x.q.grad(), x.k.grad(), x.v.grad()}) {
        digest.add(each.detach().select(0, i).slice(1, 0, 200));
      }
    }
  }
  set_thread_count(0);
  return digest.text();
}

TEST_P(AttentionWindowTest, OneDigestForEveryWay) {
  const WrittenDigests plain = {{"8cb0ea6c8e2241a9", "0c655a3dd1b87457"},
                                {"45b754b9c8b7714a", "5cac7b8984e139f7"}};
  const WrittenDigests causal = {{"eae60e1c95e81684", "64edf30181bfda70"},
                                 {"d1f34cd1a9469d30", "27be522ed5a519c1"}};
  for (DType dtype : {kFloat32, kFloat64}) {
    for (bool is_causal : {false, true}) {
      const std::string want = (is_causal ? causal : plain).of(dtype);
      for (index_t batch : {4, 1}) {
        for (index_t padding : {0, 37, 150}) {
          for (int threads : {1, 2, 8}) {
            EXPECT_EQ(digest_of(dtype, batch, padding, is_causal, threads), want)
                << threads << " threads, batch " << batch << ", padding " << padding;
          }
        }
      }
      std::cout << digest_of(dtype, 4, 0, is_causal, 1) << "  " << dtype
                << (is_causal ? "  causal\n" : "  plain\n");
    }
  }
}

}  // namespace
}  // namespace tessera::test
