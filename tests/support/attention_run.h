// Attention for the tests of the op: random inputs and masks, the results forward and backward, and
// the comparison of two results.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/reduce.h"
#include "tests/support/attention_backward_oracle.h"

namespace tessera::test {

struct AttentionSizes {
  index_t batch, heads, queries, keys, width, v_width;

  Shape scores() const { return {batch, heads, queries, keys}; }
};

/// q, k and v (B, H, T, width), and the gradient of the output: random numbers, the same in both
/// dtypes.
struct AttentionInputs {
  Tensor q, k, v, d_out;

  explicit AttentionInputs(const AttentionSizes& s, DType dtype = kFloat32, std::uint64_t seed = 1)
      : q(random_tensor({s.batch, s.heads, s.queries, s.width}, kFloat32, seed).to(dtype)),
        k(random_tensor({s.batch, s.heads, s.keys, s.width}, kFloat32, seed + 1).to(dtype)),
        v(random_tensor({s.batch, s.heads, s.keys, s.v_width}, kFloat32, seed + 2).to(dtype)),
        d_out(
            random_tensor({s.batch, s.heads, s.queries, s.v_width}, kFloat32, seed + 3).to(dtype)) {
  }
  AttentionInputs(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& d)
      : q(query), k(key), v(value), d_out(d) {}

  /// The inputs with f applied to each tensor.
  template <class F>
  AttentionInputs each(const F& f) const {
    return {f(q), f(k), f(v), f(d_out)};
  }
  AttentionInputs to(DType dtype) const {
    return each([=](const Tensor& x) { return x.to(dtype); });
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(q.size(-1))); }
  AttentionResult attend(const MaskParts& mask = {}, const AttentionOptions& options = {}) const {
    return attention(q, k, v, mask.library(), options);
  }
  NaiveAttention oracle(const MaskParts& mask = {}, const DropoutOptions& dropout = {}) const {
    return naive_attention(q, k, v, mask, scale(), dropout);
  }
  NaiveAttentionGradients backward_oracle(const MaskParts& mask,
                                          const DropoutOptions& dropout = {}) const {
    return naive_attention_backward(q, k, v, d_out, mask, scale(), dropout);
  }
};

inline AttentionOptions with_weights(AttentionOptions options = {}) {
  options.need_weights.emplace();
  return options;
}

/// The outputs of attention, and the gradients of sum(output * d_out); d_bias only if there is a
/// bias.
struct AttentionResults {
  Tensor output, weights, dq, dk, dv, d_bias;

  /// Calls f(name, tensor) for each tensor that is defined.
  template <class F>
  void for_each(const F& f) const {
    const std::pair<const char*, Tensor> all[] = {{"output", output}, {"weights", weights},
                                                  {"dq", dq},         {"dk", dk},
                                                  {"dv", dv},         {"d bias", d_bias}};
    for (const auto& [name, x] : all) {
      if (x.defined()) f(name, x);
    }
  }
};

/// Runs attention forward and backward. Weights that the options do not request are from a second
/// call, without a tape.
inline AttentionResults run_attention(const AttentionInputs& x, const MaskParts& mask,
                                      const AttentionOptions& options = {}) {
  const auto leaf = [](const Tensor& t) {
    return t.defined() ? t.detach().set_requires_grad() : Tensor();
  };
  const Tensor q = leaf(x.q), k = leaf(x.k), v = leaf(x.v);
  MaskParts own = mask;
  own.bias = leaf(mask.bias.defined() ? mask.bias.to(x.q.dtype()) : Tensor());
  AttentionResults y;
  Tape tape;
  const AttentionResult recorded = attention(q, k, v, own.library(), options);
  tape.backward(sum(recorded.output * x.d_out));
  const NoGrad pause;
  y.output = recorded.output.detach();
  y.weights = options.need_weights
                  ? recorded.weights.detach()
                  : attention(q, k, v, own.library(), with_weights(options)).weights;
  y.dq = q.grad();
  y.dk = k.grad();
  y.dv = v.grad();
  if (own.bias.defined()) y.d_bias = own.bias.grad();
  return y;
}

/// Expects that two results agree in every bit.
inline void expect_same(const AttentionResults& got, const AttentionResults& want) {
  std::vector<Tensor> wanted;
  want.for_each([&](const char*, const Tensor& x) { wanted.push_back(x); });
  std::size_t i = 0;
  got.for_each([&](const char* name, const Tensor& x) {
    ASSERT_LT(i, wanted.size()) << name;
    EXPECT_TRUE(same_bits(x, wanted[i++])) << name;
  });
  EXPECT_EQ(i, wanted.size());
}

/// A mask of several kinds: bits 0 to 3 of `kinds` are causal, lengths, keep and bias. Sequence b
/// of B has the length keys * (b + first) / B.
inline MaskParts random_mask(index_t kinds, const Shape& scores, std::uint64_t seed,
                             index_t first = 1) {
  MaskParts mask;
  mask.causal = kinds & 1;
  for (index_t b = 0; (kinds & 2) && b < scores[0]; ++b) {
    mask.lengths.push_back(scores[3] * (b + first) / scores[0]);
  }
  if (kinds & 4) mask.keep = random_tensor(scores, kBool, seed);
  if (kinds & 8) {
    mask.bias = random_tensor(scores, kFloat32, seed + 1);
    float* bias = mask.bias.mutable_data<float>();
    for (index_t i = 0; i < mask.bias.count(); i += 5) bias[i] = -INFINITY;
  }
  return mask;
}

/// `mask` with its window written as a keep mask.
inline MaskParts with_window_kept(MaskParts mask, const Shape& scores) {
  const Tensor kept = mask.keep.defined() ? mask.keep.expand(scores) : ones(scores, kBool);
  mask.keep = kept.clone();
  for (index_t i = 0; i < scores[2]; ++i) {
    for (index_t j = 0; j < scores[3]; ++j) {
      if (std::abs(i - j) > *mask.window) mask.keep.select(2, i).select(2, j).fill(0);
    }
  }
  mask.window.reset();
  return mask;
}

}  // namespace tessera::test
