// The promise of equal bits: an output does not change with the number of threads, the batch it
// sits in, right padding, the memory layout of its inputs, or AVX2 versus AVX-512.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iomanip>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "models/encoder.h"
#include "nn/module.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/layer_norm.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/softmax.h"
#include "tests/oracle.h"

namespace tessera::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// FNV-1a over the bytes of the elements, in row-major order.
std::string digest(const Tensor& x) {
  std::uint64_t hash = 0xcbf29ce484222325;
  visit_dtype(x.dtype(), [&](auto kind) {
    const Tensor elements = x.contiguous();
    const auto* bytes = static_cast<const unsigned char*>(elements.untyped_data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(x.count()) * sizeof(kind); ++i) {
      hash = (hash ^ bytes[i]) * 0x100000001b3;
    }
  });
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << hash;
  return text.str();
}

::testing::AssertionResult equal_bits(const Tensor& got, const Tensor& want) {
  auto result = same_bits(got, want);
  if (!result) result << "; digest " << digest(got) << ", wanted " << digest(want);
  return result;
}

constexpr index_t kBatch = 8;
constexpr index_t kTokens = 67;  // more than a block of queries
constexpr index_t kPadding = 37;
constexpr index_t kWidth = 36;
constexpr index_t kHeads = 3;

/// A function of a batch of sequences and its mask.
struct Subject {
  std::string name;
  std::function<Tensor(const Tensor& x, const AttentionMask& mask)> run;
  bool padded_by_masks = false;  // whether it takes masks

  Tensor operator()(const Tensor& x) const { return run(x, {}); }
};

models::Encoder make_encoder(bool norm_first, DType dtype) {
  Rng rng(3);
  models::Encoder encoder({.layer = {.d_model = kWidth,
                                     .nhead = kHeads,
                                     .dim_feedforward = 52,
                                     .activation = nn::Activation::kGelu,
                                     .norm_first = norm_first},
                           .num_layers = 2,
                           .final_norm = norm_first},
                          rng);
  nn::eval(encoder);
  nn::convert(encoder, dtype);
  return encoder;
}

std::vector<Subject> subjects(DType dtype) {
  const Tensor weight = random_tensor({52, kWidth}, dtype, 11);
  const Tensor bias = random_tensor({52}, dtype, 12);
  const Tensor scale = random_tensor({kWidth}, dtype, 13);
  const Tensor shift = random_tensor({kWidth}, dtype, 14);
  return {
      {"attention",
       [](const Tensor& x, const AttentionMask& mask) {
         const Tensor heads = nn::split_heads(x, kHeads);
         return nn::merge_heads(attention(heads, heads, heads, mask).output);
       },
       true},
      {"linear", [=](const Tensor& x, const AttentionMask&) { return linear(x, weight, bias); }},
      {"layer_norm",
       [=](const Tensor& x, const AttentionMask&) { return layer_norm(x, scale, shift); }},
      {"softmax", [](const Tensor& x, const AttentionMask&) { return softmax(x); }},
      {"post-norm encoder", make_encoder(false, dtype), true},
      {"pre-norm encoder", make_encoder(true, dtype), true},
  };
}

Tensor batch_of_sequences(DType dtype, index_t tokens = kTokens) {
  return random_tensor({kBatch, tokens, kWidth}, dtype, 21);
}

using BitsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, BitsTest, each_isa(), isa_name);

/// Calls `body(subject, dtype)` for every subject in both dtypes.
template <class Body>
void for_each_subject(const Body& body) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const Subject& subject : subjects(dtype)) {
      SCOPED_TRACE(format(subject.name, ", ", dtype));
      body(subject, dtype);
    }
  }
}

TEST_P(BitsTest, ThreadsDoNotMatter) {
  for_each_subject([](const Subject& subject, DType dtype) {
    const Tensor x = batch_of_sequences(dtype);
    set_thread_count(1);
    const Tensor want = subject(x);
    for (int threads = 2; threads <= 8; ++threads) {
      set_thread_count(threads);
      EXPECT_TRUE(equal_bits(subject(x), want)) << threads << " threads";
    }
    set_thread_count(0);
  });
}

TEST_P(BitsTest, TheBatchDoesNotMatter) {
  for_each_subject([](const Subject& subject, DType dtype) {
    const Tensor x = batch_of_sequences(dtype);
    const Tensor together = subject(x);
    for (index_t b : {0, 3, 7}) {
      EXPECT_TRUE(equal_bits(subject(x.slice(0, b, b + 1)), together.slice(0, b, b + 1)))
          << "sequence " << b;
      if (subject.name != "attention") {  // split_heads wants a batch
        EXPECT_TRUE(equal_bits(subject(x.select(0, b)), together.select(0, b))) << "unbatched";
      }
    }
  });
}

TEST_P(BitsTest, OneTokenDoesNotDependOnTheOthersWhereNothingAttends) {
  for_each_subject([](const Subject& subject, DType dtype) {
    if (subject.padded_by_masks) return;
    const Tensor x = batch_of_sequences(dtype);
    const Tensor together = subject(x);
    for (index_t t = 0; t < kTokens; t += 7) {
      EXPECT_TRUE(equal_bits(subject(x.select(1, t)), together.select(1, t))) << "token " << t;
    }
  });
}

/// The ways to say that keys behind the first kTokens are padding.
std::vector<std::pair<std::string, AttentionMask>> padding_masks() {
  const index_t all = kTokens + kPadding;
  Tensor ignore = zeros({kBatch, all}, kBool);
  ignore.slice(1, kTokens).fill(1);
  Tensor bias = zeros({all, all});
  bias.slice(1, kTokens).fill(-kInf);
  return {{"lengths", length_mask(std::vector<index_t>(kBatch, kTokens))},
          {"ignored keys", ignore_keys_mask(ignore)},
          {"additive", additive_mask(bias)}};
}

TEST_P(BitsTest, RightPaddingDoesNotMatter) {
  for_each_subject([](const Subject& subject, DType dtype) {
    const Tensor padded = batch_of_sequences(dtype, kTokens + kPadding);
    const Tensor x = padded.slice(1, 0, kTokens);
    for (const AttentionMask& also : {AttentionMask(), causal_mask()}) {
      const Tensor want = subject.run(x, also);
      for (const auto& [name, mask] : padding_masks()) {
        EXPECT_TRUE(equal_bits(subject.run(padded, mask & also).slice(1, 0, kTokens), want))
            << name;
      }
    }
  });
}

TEST_P(BitsTest, LayoutsDoNotMatter) {
  for_each_subject([](const Subject& subject, DType dtype) {
    const Tensor x = batch_of_sequences(dtype);
    const Tensor want = subject(x);
    for (const Layout& layout : layouts_of(x)) {
      EXPECT_TRUE(equal_bits(subject(layout.tensor), want)) << layout.name;
    }
  });
}

TEST(Bits, Avx2AndAvx512Agree) {
  const std::string before = current_isa();
  const auto isas = available_isas();
  if (std::count(isas.begin(), isas.end(), "avx512") != 0) {
    for_each_subject([](const Subject& subject, DType dtype) {
      const Tensor x = batch_of_sequences(dtype);
      for (const AttentionMask& mask : {AttentionMask(), causal_mask()}) {
        set_isa("avx2");
        const Tensor want = subject.run(x, mask);
        set_isa("avx512");
        EXPECT_TRUE(equal_bits(subject.run(x, mask), want));
      }
    });
  }
  set_isa(before);
}

TEST(Bits, TheDigestSeesOneBit) {
  const Tensor x = batch_of_sequences(kFloat32);
  Tensor y = x.clone();
  EXPECT_EQ(digest(x), digest(y));
  float& last = y.mutable_data<float>()[y.count() - 1];
  last = std::nextafter(last, 10.0F);
  EXPECT_NE(digest(x), digest(y));
  EXPECT_FALSE(equal_bits(x, y));
}

}  // namespace
}  // namespace tessera::test
