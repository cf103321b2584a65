// Window attention: the definition, the bits of the same keys kept by a mask, and what is outside.
// The kernel's ranges of keys have tests of their own, in attention_backward_kernels_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/digest.h"

namespace tessera::test {
namespace {

using AttentionWindowTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionWindowTest, each_isa(), isa_name);

struct WindowInputs {
  Tensor q, k, v;

  WindowInputs(const Shape& leading, index_t queries, index_t keys, DType dtype)
      : q(random(leading, queries, 24, dtype, 1)),
        k(random(leading, keys, 24, dtype, 2)),
        v(random(leading, keys, 17, dtype, 3)) {}

 private:
  static Tensor random(const Shape& leading, index_t tokens, index_t width, DType dtype,
                       std::uint64_t seed) {
    return random_tensor({leading[0], leading[1], tokens, width}, dtype, seed);
  }
};

/// Output, weights, and the gradients of q, k, v and, where the mask has one, of the bias.
struct WindowResults {
  Tensor output, weights;
  std::vector<Tensor> gradients;
};

WindowResults results_of(const WindowInputs& x, const AttentionMask& mask,
                         const Tensor& bias = {}) {
  WindowResults y;
  const AttentionMask all = bias.defined() ? mask & additive_mask(bias) : mask;
  y.weights = attention(x.q, x.k, x.v, all, {.weights = AttentionRequest{}}).weights;
  std::vector<Tensor> leaves;
  for (const Tensor& each : {x.q, x.k, x.v, bias}) {
    leaves.push_back(each.defined() ? each.detach().set_requires_grad() : Tensor());
  }
  Tape tape;
  const AttentionMask again = bias.defined() ? mask & additive_mask(leaves[3]) : mask;
  const Tensor output = attention(leaves[0], leaves[1], leaves[2], again).output;
  y.output = output.detach();
  tape.backward(sum(output * random_tensor(output.shape(), output.dtype(), 9)));
  for (const Tensor& leaf : leaves) {
    if (leaf.defined()) y.gradients.push_back(leaf.grad());
  }
  return y;
}

void expect_same_window(const WindowResults& got, const WindowResults& want) {
  EXPECT_TRUE(same_bits(got.output, want.output)) << "output";
  EXPECT_TRUE(same_bits(got.weights, want.weights)) << "weights";
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (std::size_t i = 0; i < got.gradients.size(); ++i) {
    EXPECT_TRUE(same_bits(got.gradients[i], want.gradients[i])) << "gradient " << i;
  }
}

/// The window as a mask that says key by key what is kept.
AttentionMask kept(index_t queries, index_t keys, index_t window) {
  const Tensor i = arange(queries, kFloat64).unsqueeze(1);
  return keep_mask(abs(i - arange(keys, kFloat64)) <= window);
}

TEST_P(AttentionWindowTest, AgreesWithTheDefinition) {
  constexpr std::array<index_t, 8> kTokens = {1, 4, 33, 49, 64, 129, 200, 300};
  constexpr std::array<index_t, 7> kWindows = {0, 1, 30, 48, 64, 128, 1000};
  std::size_t number = 0;
  for (index_t queries : kTokens) {
    for (index_t keys : kTokens) {
      const DType dtype = number % 2 == 0 ? kFloat32 : kFloat64;
      const WindowInputs x({2, 1}, queries, keys, dtype);
      MaskParts mask = {.causal = number % 3 == 0, .window = kWindows[number % 7]};
      if (number % 4 == 1) mask.lengths = {keys / 2, keys};
      if (number % 5 == 1) mask.keep = random_tensor({queries, keys}, kBool, 4);
      if (number % 5 == 3) mask.bias = random_tensor({2, 1, 1, keys}, kFloat32, 5);
      SCOPED_TRACE(str_cat(queries, " queries, ", keys, " keys, case ", number));
      const AttentionResult got =
          attention(x.q, x.k, x.v, mask.library(), {.weights = AttentionRequest{}});
      const NaiveAttention want = naive_attention(x.q, x.k, x.v, mask, 1 / std::sqrt(24.0));
      const double allowed = dtype == kFloat32 ? 5e-6 : 1e-12;
      EXPECT_TRUE(near(got.output, want.output, 0, allowed));
      EXPECT_TRUE(near(got.weights, want.weights, 0, allowed));
      ++number;
    }
  }
}

TEST_P(AttentionWindowTest, HasTheBitsOfTheSameKeysKept) {
  for (const auto& [queries, keys] :
       {std::array<index_t, 2>{131, 140}, {300, 300}, {40, 290}, {290, 40}}) {
    const WindowInputs x({2, 2}, queries, keys, kFloat32);
    for (index_t window : {0, 5, 64, 100}) {
      const Tensor bias = random_tensor({2, queries, keys}, kFloat32, 5);
      for (const AttentionMask& also :
           {AttentionMask(), causal_mask(), length_mask({keys / 3, keys}),
            keep_mask(random_tensor({2, 1, queries, keys}, kBool, 6)) & causal_mask()}) {
        SCOPED_TRACE(str_cat(queries, " queries, ", keys, " keys, window ", window));
        const WindowResults want = results_of(x, kept(queries, keys, window) & also, bias);
        for (int threads : {1, 2, 5}) {
          set_thread_count(threads);
          expect_same_window(results_of(x, window_mask(window) & also, bias), want);
        }
        set_thread_count(0);
      }
    }
  }
}

TEST_P(AttentionWindowTest, OfAllKeysIsNone) {
  const WindowInputs x({1, 2}, 131, 140, kFloat32);
  for (const AttentionMask& also : {AttentionMask(), causal_mask()}) {
    const WindowResults want = results_of(x, also);
    for (index_t window : {index_t{139}, index_t{5000}, std::numeric_limits<index_t>::max()}) {
      expect_same_window(results_of(x, window_mask(window) & also), want);
    }
  }
}

TEST_P(AttentionWindowTest, OfNothingBesidesIsTheValueItself) {
  const WindowInputs x({1, 2}, 131, 131, kFloat32);
  EXPECT_TRUE(same_bits(attention(x.q, x.k, x.v, window_mask(0)).output.contiguous(), x.v));
}

// What is not finite shows in the queries that see it, and in no other; where it does not, all bits
// are those without it. Gradients: a key's and a value's are clean where no such query sees them.
TEST_P(AttentionWindowTest, NothingLeaksFromOutside) {
  constexpr index_t kTokens = 300, kWindow = 20;
  const WindowResults clean =
      results_of(WindowInputs({1, 2}, kTokens, kTokens, kFloat32), window_mask(kWindow));
  for (double bad : {std::numeric_limits<double>::quiet_NaN(), kInf}) {
    for (index_t key : {0, 47, 128, 250, 299}) {
      SCOPED_TRACE(str_cat("key ", key, " is ", bad));
      WindowInputs x({1, 2}, kTokens, kTokens, kFloat32);
      x.k.select(2, key).fill(bad);
      x.v.select(2, key).fill(bad);
      const WindowResults got = results_of(x, window_mask(kWindow));
      const auto expect_apart = [&](const Tensor& a, const Tensor& b, index_t reach,
                                    const char* what) {
        const index_t before = std::max<index_t>(key - reach, 0);
        const index_t after = std::min(key + reach + 1, kTokens);
        EXPECT_TRUE(same_bits(a.slice(2, 0, before), b.slice(2, 0, before))) << what;
        EXPECT_TRUE(same_bits(a.slice(2, after), b.slice(2, after))) << what;
      };
      expect_apart(got.output, clean.output, kWindow, "output");
      expect_apart(got.weights, clean.weights, kWindow, "weights");
      expect_apart(got.gradients[0], clean.gradients[0], kWindow, "dq");
      expect_apart(got.gradients[1], clean.gradients[1], 2 * kWindow, "dk");
      expect_apart(got.gradients[2], clean.gradients[2], 2 * kWindow, "dv");
      const Tensor seen = got.output.slice(2, std::max<index_t>(key - kWindow, 0),
                                           std::min(key + kWindow + 1, kTokens));
      EXPECT_TRUE(all(isnan(seen)).item<bool>());
    }
  }
}

TEST_P(AttentionWindowTest, WhoSeesNothingGetsZeros) {
  // Queries behind the last key they could see, and keys before and behind all queries' windows.
  const WindowResults few_keys =
      results_of(WindowInputs({1, 1}, 300, 40, kFloat32), window_mask(5));
  EXPECT_TRUE(same_bits(few_keys.output.slice(2, 45).contiguous(), zeros({1, 1, 255, 17})));
  EXPECT_TRUE(same_bits(few_keys.weights.slice(2, 45).contiguous(), zeros({1, 1, 255, 40})));
  EXPECT_TRUE(same_bits(few_keys.gradients[0].slice(2, 45).contiguous(), zeros({1, 1, 255, 24})));
  const WindowResults few_queries =
      results_of(WindowInputs({1, 1}, 40, 300, kFloat32), window_mask(5));
  EXPECT_TRUE(
      same_bits(few_queries.gradients[1].slice(2, 45).contiguous(), zeros({1, 1, 255, 24})));
  EXPECT_TRUE(
      same_bits(few_queries.gradients[2].slice(2, 45).contiguous(), zeros({1, 1, 255, 17})));
  const WindowResults short_one =
      results_of(WindowInputs({1, 1}, 300, 300, kFloat32), window_mask(5) & length_mask({100}));
  EXPECT_TRUE(same_bits(short_one.output.slice(2, 105).contiguous(), zeros({1, 1, 195, 17})));
  EXPECT_FALSE(any(isnan(short_one.gradients[1])).item<bool>());
}

/// Output and gradients of sequences of 200 tokens, of `batch` at a time and padded.
std::string digest_of(DType dtype, index_t batch, index_t padding, bool causal, int threads) {
  const WindowInputs all({4, 3}, 200, 200, dtype);
  set_thread_count(threads);
  Digest digest;
  for (index_t b = 0; b < 4; b += batch) {
    WindowInputs x({batch, 3}, 200 + padding, 200 + padding, dtype);
    for (Tensor WindowInputs::*each : {&WindowInputs::q, &WindowInputs::k, &WindowInputs::v}) {
      (x.*each).slice(2, 0, 200).copy_from((all.*each).slice(0, b, b + batch));
    }
    AttentionMask mask = window_mask(70);
    if (causal) mask = mask & causal_mask();
    if (padding > 0) mask = mask & length_mask(full({batch}, 200, kInt64));
    for (Tensor WindowInputs::*each : {&WindowInputs::q, &WindowInputs::k, &WindowInputs::v}) {
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
