// The backward of the attention kernel between guard bytes, against its definition: sizes, masks,
// and how the work is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/attention_backward_oracle.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

using AttentionBackwardKernelsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionBackwardKernelsTest, each_isa(), isa_name);

struct BackwardSizes {
  index_t batch, heads, queries, keys, width, v_width;

  Shape of_scores() const { return {batch, heads, queries, keys}; }
};

/// Inputs and gradients in guarded memory. Heads lie side by side, as a projection leaves them.
template <class T>
class BackwardBuffers {
 public:
  explicit BackwardBuffers(const BackwardSizes& sizes, const MaskParts& parts = {},
                           const Shape& d_bias_shape = {})
      : s(sizes),
        parts_(parts),
        q(input(s.queries, s.width, 1)),
        k(input(s.keys, s.width, 2)),
        v(input(s.keys, s.v_width, 3)),
        d_out(input(s.queries, s.v_width, 4)),
        out(count(s.queries, s.v_width), 1),
        dq(count(s.queries, s.width), 3),
        dk(count(s.keys, s.width), 1),
        dv(count(s.keys, s.v_width), 5),
        maxima(s.batch * s.heads * s.queries, 1),
        scales(s.batch * s.heads * s.queries, 2) {
    if (parts_.keep.defined()) keep_ = parts_.keep.expand(s.of_scores());
    if (parts_.bias.defined()) bias_ = parts_.bias.to(dtype_of<T>).expand(s.of_scores());
    if (d_bias_shape.size() != 0) d_bias = zeros(d_bias_shape, dtype_of<T>);
  }

  kernels::AttentionBackwardArgs<T> args() {
    kernels::AttentionBackwardArgs<T> a = {};
    kernels::AttentionArgs<T>& f = a.forward;
    f.batch = s.batch;
    f.heads = s.heads;
    f.queries = s.queries;
    f.keys = s.keys;
    f.width = s.width;
    f.v_width = s.v_width;
    f.q = bind(q, s.queries, s.width, f.q_strides);
    f.k = bind(k, s.keys, s.width, f.k_strides);
    f.v = bind(v, s.keys, s.v_width, f.v_strides);
    f.out = bind(out, s.queries, s.v_width, f.out_strides);
    f.scale = static_cast<T>(scale());
    f.maxima = maxima.data();
    f.scales = scales.data();
    set_masks(f);
    a.d_out = bind(d_out, s.queries, s.v_width, a.d_out_strides);
    a.dq = bind(dq, s.queries, s.width, a.dq_strides);
    a.dk = bind(dk, s.keys, s.width, a.dk_strides);
    a.dv = bind(dv, s.keys, s.v_width, a.dv_strides);
    if (d_bias.defined()) {
      a.d_bias = d_bias.mutable_data<T>();
      const Tensor expanded = d_bias.expand(s.of_scores());
      for (index_t i = 0; i < 4; ++i) a.d_bias_strides[i] = expanded.strides()[i];
    }
    return a;
  }

  /// Forward and backward on `workers` threads.
  void run(index_t workers = 1) {
    kernels::AttentionBackwardArgs<T> a = args();
    const auto& kernel = kernels::table().of<T>();
    with_workspace(a.forward, kernel.attention_workspace(a.forward),
                   [&] { kernel.attention(a.forward); });
    run_backward(a, workers);
  }
  void run_backward(kernels::AttentionBackwardArgs<T> a, index_t workers) {
    a.forward.workers = workers;
    for (Guarded<T>* gradient : {&dq, &dk, &dv}) {
      const std::vector<T> all = gradient->values();
      std::fill_n(gradient->data(), all.size(), std::numeric_limits<T>::quiet_NaN());
    }
    const auto& kernel = kernels::table().of<T>();
    with_workspace(a.forward, kernel.attention_backward_workspace(a),
                   [&] { kernel.attention_backward(a); });
    for (Guarded<T>* buffer : {&q, &k, &v, &d_out, &out, &dq, &dk, &dv, &maxima, &scales}) {
      EXPECT_TRUE(buffer->intact());
    }
  }

  double scale() const { return 1 / std::sqrt(std::max(1.0, static_cast<double>(s.width))); }
  Tensor shaped(const Guarded<T>& x, index_t tokens, index_t width) const {
    return from_vector(x.values(), {s.batch, tokens, s.heads, width}).transpose(1, 2);
  }
  NaiveAttentionGradients oracle() const {
    return naive_attention_backward(shaped(q, s.queries, s.width), shaped(k, s.keys, s.width),
                                    shaped(v, s.keys, s.v_width),
                                    shaped(d_out, s.queries, s.v_width), parts_, scale());
  }
  void expect_gradients(double allowed) {
    const NaiveAttentionGradients want = oracle();
    EXPECT_TRUE(near(shaped(dq, s.queries, s.width), want.q, 0, allowed)) << "dq";
    EXPECT_TRUE(near(shaped(dk, s.keys, s.width), want.k, 0, allowed)) << "dk";
    EXPECT_TRUE(near(shaped(dv, s.keys, s.v_width), want.v, 0, allowed)) << "dv";
    if (!d_bias.defined()) return;
    EXPECT_TRUE(near(d_bias, summed(want.scores), 0, allowed)) << "d bias";
  }
  /// All gradients, one behind the other.
  std::vector<T> gradients() const {
    std::vector<T> all = dq.values();
    std::vector<Tensor> others = {from_vector(dk.values()), from_vector(dv.values())};
    if (d_bias.defined()) others.push_back(d_bias);
    for (const Tensor& x : others) {
      const std::vector<T> values = x.template to_vector<T>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  BackwardSizes s;

 private:
  MaskParts parts_;
  Tensor keep_, bias_;

 public:
  Guarded<T> q, k, v, d_out, out, dq, dk, dv, maxima, scales;
  Tensor d_bias;

 private:
  index_t count(index_t tokens, index_t width) const { return s.batch * s.heads * tokens * width; }
  Guarded<T> input(index_t tokens, index_t width, std::uint64_t seed) const {
    return Guarded<T>(random_values<T>(count(tokens, width), seed, -2, 2),
                      static_cast<index_t>(seed));
  }
  T* bind(Guarded<T>& buffer, index_t tokens, index_t width, index_t (&strides)[3]) const {
    strides[0] = tokens * s.heads * width;
    strides[1] = width;
    strides[2] = s.heads * width;
    return buffer.data();
  }
  void set_masks(kernels::AttentionArgs<T>& f) {
    f.causal = parts_.causal;
    f.window = parts_.window.value_or(kernels::kNoWindow);
    if (!parts_.lengths.empty()) f.lengths = parts_.lengths.data();
    if (keep_.defined()) f.keep = keep_.data<bool>();
    if (bias_.defined()) f.bias = bias_.template data<T>();
    for (index_t i = 0; i < 4; ++i) {
      if (keep_.defined()) f.keep_strides[i] = keep_.strides()[i];
      if (bias_.defined()) f.bias_strides[i] = bias_.strides()[i];
    }
  }
  template <class Call>
  void with_workspace(kernels::AttentionArgs<T>& f, index_t elements, const Call& call) {
    Guarded<T> workspace(elements, 1);
    for (index_t i = 0; i < elements; ++i) workspace[i] = std::numeric_limits<T>::quiet_NaN();
    f.workspace = workspace.data();
    call();
    EXPECT_TRUE(workspace.intact());
  }
  /// Summed over the axes along which the bias is broadcast.
  Array summed(const Array& scores) const {
    Array result = build(d_bias.shape(), [](const Dims&) { return 0.0; });
    const index_t missing = 4 - d_bias.rank();
    for_each_index(scores.shape, [&](const Dims& at) {
      Dims to;
      for (index_t i = 0; i < d_bias.rank(); ++i) {
        to.push_back(d_bias.size(i) == 1 ? 0 : at[i + missing]);
      }
      result.at(to) += scores.at(at);
    });
    return result;
  }
};

/// Which kinds of masks apply: bits 0 to 3 are causal, lengths, keep and bias.
MaskParts mask_of(index_t kinds, const BackwardSizes& s, std::uint64_t seed) {
  MaskParts mask;
  mask.causal = kinds & 1;
  for (index_t b = 0; (kinds & 2) && b < s.batch; ++b) mask.lengths.push_back(s.keys * b / s.batch);
  if (kinds & 4) mask.keep = random_tensor(s.of_scores(), kBool, seed);
  if (kinds & 8) {
    mask.bias = random_tensor(s.of_scores(), kFloat32, seed + 1);
    float* bias = mask.bias.mutable_data<float>();
    for (index_t i = 0; i < mask.bias.count(); i += 5) bias[i] = -INFINITY;
  }
  return mask;
}

// A query's 300 terms of size 2 and their rounding.
template <class T>
constexpr double kAllowed = sizeof(T) == sizeof(float) ? 4e-5 : 1e-13;

template <class T>
void check(const BackwardSizes& s, index_t kinds, std::uint64_t seed) {
  SCOPED_TRACE(str_cat(s.queries, " queries, ", s.keys, " keys, width ", s.width, " and ",
                       s.v_width, ", masks ", kinds));
  BackwardBuffers<T> buffers(s, mask_of(kinds, s, seed), kinds & 8 ? s.of_scores() : Shape{});
  buffers.run();
  buffers.expect_gradients(kAllowed<T>);
}

template <class T>
void check_all_lengths() {
  constexpr std::array<index_t, 9> kTokens = {1, 5, 47, 48, 49, 64, 65, 130, 200};
  constexpr std::array<index_t, 7> kWidths = {1, 8, 17, 32, 64, 65, 80};
  index_t number = 0;  // each pair of lengths meets other widths and masks
  for (index_t queries : kTokens) {
    for (index_t keys : kTokens) {
      const index_t width = kWidths[static_cast<std::size_t>(number % 7)];
      const index_t v_width = kWidths[static_cast<std::size_t>(number * 4 % 7)];
      check<T>({2, 1, queries, keys, width, v_width}, number % 16,
               static_cast<std::uint64_t>(number));
      ++number;
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, EveryLengthWithEveryMaskInFloat) {
  check_all_lengths<float>();
}

TEST_P(AttentionBackwardKernelsTest, EveryLengthWithEveryMaskInDouble) {
  check_all_lengths<double>();
}

/// `mask` with its window said key by key.
MaskParts with_window_kept(MaskParts mask, const BackwardSizes& s) {
  Tensor keep = mask.keep.defined() ? mask.keep.clone() : ones(s.of_scores(), kBool);
  for (index_t i = 0; i < s.queries; ++i) {
    for (index_t j = 0; j < s.keys; ++j) {
      if (std::abs(i - j) > *mask.window) keep.select(2, i).select(2, j).fill(0);
    }
  }
  mask.window.reset();
  mask.keep = keep;
  return mask;
}

// Ranges of keys that begin and stop anywhere in a tile, for any number of workers.
TEST_P(AttentionBackwardKernelsTest, AWindowHasTheBitsOfTheSameKeysKept) {
  constexpr std::array<index_t, 6> kTokens = {1, 49, 64, 130, 257, 300};
  constexpr std::array<index_t, 6> kWindows = {0, 3, 47, 64, 128, 200};
  index_t number = 0;
  for (index_t queries : kTokens) {
    for (index_t keys : kTokens) {
      const BackwardSizes s = {2, 1, queries, keys, 9, 17};
      MaskParts mask = mask_of(number * 5 % 16, s, 3);
      mask.window = kWindows[static_cast<std::size_t>(number % 6 + number / 6) % 6];
      SCOPED_TRACE(str_cat(queries, " queries, ", keys, " keys, window ", *mask.window, ", masks ",
                           number * 5 % 16));
      BackwardBuffers<float> kept(s, with_window_kept(mask, s), s.of_scores());
      kept.run();
      for (index_t workers : {1, 2, 5}) {
        BackwardBuffers<float> got(s, mask, s.of_scores());
        got.run(workers);
        EXPECT_TRUE(same_bits(got.out.values(), kept.out.values()));
        EXPECT_TRUE(same_bits(got.gradients(), kept.gradients())) << workers << " workers";
        if (workers == 1) got.expect_gradients(kAllowed<float>);
      }
      ++number;
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, EveryPairOfWidths) {
  for (index_t width : {1, 8, 17, 64, 80}) {
    for (index_t v_width : {1, 8, 17, 64, 80, 130})
      check<float>({1, 2, 49, 70, width, v_width}, 0, 1);
  }
}

TEST_P(AttentionBackwardKernelsTest, ABiasGathersWhatItWasBroadcastTo) {
  const BackwardSizes s = {2, 3, 50, 70, 9, 17};
  for (const Shape& shape :
       {Shape{2, 3, 50, 70}, Shape{3, 50, 70}, Shape{50, 70}, Shape{2, 1, 50, 70}, Shape{70},
        Shape{2, 1, 1, 70}, Shape{3, 1, 70}, Shape{50, 1}, Shape{1}, Shape{2, 3, 50, 1}}) {
    SCOPED_TRACE(str_cat("bias ", shape));
    const MaskParts mask = {.causal = true, .bias = random_tensor(shape, kFloat32, 7)};
    BackwardBuffers<double> one(s, mask, shape);
    one.run();
    one.expect_gradients(1e-13);
    for (index_t workers : {2, 3, 8}) {
      BackwardBuffers<double> more(s, mask, shape);
      more.run(workers);
      EXPECT_TRUE(same_bits(more.gradients(), one.gradients())) << workers << " workers";
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, AnyNumberOfWorkersGivesTheSameBits) {
  for (index_t kinds : {0, 1, 2, 12}) {
    for (const BackwardSizes& s :
         {BackwardSizes{2, 3, 130, 140, 9, 17}, BackwardSizes{1, 1, 300, 300, 32, 32}}) {
      const MaskParts mask = mask_of(kinds, s, 3);
      BackwardBuffers<float> one(s, mask);
      one.run();
      for (index_t workers : {2, 3, 4, 7, 8, 40}) {
        BackwardBuffers<float> more(s, mask);
        more.run(workers);
        EXPECT_TRUE(same_bits(more.gradients(), one.gradients())) << workers << " workers";
      }
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, TheForwardHasTheSameBitsWithoutItsStatistics) {
  const BackwardSizes s = {2, 2, 131, 140, 9, 17};
  for (index_t kinds = 0; kinds < 16; ++kinds) {
    BackwardBuffers<float> with(s, mask_of(kinds, s, 3));
    BackwardBuffers<float> without(s, mask_of(kinds, s, 3));
    with.run();
    const auto& kernel = kernels::table().of<float>();
    kernels::AttentionArgs<float> args = without.args().forward;
    args.maxima = args.scales = nullptr;
    std::vector<float> workspace(static_cast<std::size_t>(kernel.attention_workspace(args)));
    args.workspace = workspace.data();
    kernel.attention(args);
    EXPECT_TRUE(same_bits(without.out.values(), with.out.values())) << "masks " << kinds;
  }
}

TEST_P(AttentionBackwardKernelsTest, KeysMaskedAtTheEndChangeNoBit) {
  const BackwardSizes s = {2, 2, 60, 70, 8, 24};
  BackwardBuffers<float> all(s);
  all.run();
  BackwardSizes padded = s;
  padded.keys = 150;
  const MaskParts by_length = {.lengths = {70, 70}};
  MaskParts by_mask = {.keep = ones({150}, kBool)};
  by_mask.keep.slice(0, 70).fill(0);
  for (const MaskParts& mask : {by_length, by_mask}) {
    BackwardBuffers<float> more(padded, mask);
    const auto copy_keys = [&](Guarded<float>& to, const Guarded<float>& from, index_t width) {
      for (index_t b = 0; b < s.batch; ++b) {
        for (index_t i = 0; i < 150 * s.heads * width; ++i) {
          const bool real = i < 70 * s.heads * width;
          to[b * 150 * s.heads * width + i] =
              real ? from.data()[b * 70 * s.heads * width + i] : std::nanf("");
        }
      }
    };
    copy_keys(more.k, all.k, s.width);
    copy_keys(more.v, all.v, s.v_width);
    more.run();
    EXPECT_TRUE(same_bits(more.dq.values(), all.dq.values()));
    const auto real_keys = [&](const Guarded<float>& x, index_t width) {
      return more.shaped(x, 150, width).slice(2, 0, 70);
    };
    const auto padding = [&](const Guarded<float>& x, index_t width) {
      return more.shaped(x, 150, width).slice(2, 70);
    };
    EXPECT_TRUE(same_bits(real_keys(more.dk, s.width), all.shaped(all.dk, 70, s.width)));
    EXPECT_TRUE(same_bits(real_keys(more.dv, s.v_width), all.shaped(all.dv, 70, s.v_width)));
    EXPECT_TRUE(same_bits(padding(more.dk, s.width), zeros({2, 2, 80, s.width})));
    EXPECT_TRUE(same_bits(padding(more.dv, s.v_width), zeros({2, 2, 80, s.v_width})));
  }
}

/// Row (head, token) of a buffer of one batch with heads side by side.
template <class T>
T* row_of(Guarded<T>& x, const BackwardSizes& s, index_t width, index_t head, index_t token) {
  return x.data() + (token * s.heads + head) * width;
}

TEST_P(AttentionBackwardKernelsTest, WhatNoWeightLeadsToDoesNotShow) {
  const BackwardSizes s = {1, 2, 100, 100, 17, 19};
  MaskParts mask = {.keep = ones({100, 100}, kBool)};
  mask.keep.select(1, 3).fill(0);   // no query sees key 3
  mask.keep.select(0, 70).fill(0);  // query 70 sees no key
  BackwardBuffers<float> clean(s, mask);
  clean.run();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY}) {
    BackwardBuffers<float> dirty(s, mask);
    for (index_t c = 0; c < s.width; ++c) {
      row_of(dirty.k, s, s.width, 1, 3)[c] = bad;
      row_of(dirty.q, s, s.width, 1, 70)[c] = bad;
    }
    for (index_t c = 0; c < s.v_width; ++c) {
      row_of(dirty.v, s, s.v_width, 1, 3)[c] = bad;
      row_of(dirty.d_out, s, s.v_width, 1, 70)[c] = bad;
    }
    dirty.run();
    EXPECT_TRUE(same_bits(dirty.gradients(), clean.gradients())) << bad;
    for (index_t c = 0; c < s.width; ++c) {
      EXPECT_TRUE(same_bits(std::vector{row_of(dirty.dq, s, s.width, 1, 70)[c],
                                        row_of(dirty.dk, s, s.width, 1, 3)[c]},
                            std::vector{0.0F, 0.0F}));
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, WhatAWeightLeadsToShows) {
  const BackwardSizes s = {1, 1, 70, 70, 17, 19};
  const MaskParts mask = {.causal = true};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  BackwardBuffers<float> clean(s, mask);
  clean.run();
  // Query 50 sees the keys up to 50, and no other query's gradient depends on it.
  for (const bool in_gradient : {false, true}) {
    BackwardBuffers<float> dirty(s, mask);
    if (in_gradient) {
      dirty.d_out[50 * s.v_width + 3] = nan;
    } else {
      dirty.q[50 * s.width + 3] = nan;
    }
    dirty.run();
    const auto check_rows = [&](const Guarded<float>& got, const Guarded<float>& want,
                                index_t width, index_t first, index_t last) {
      for (index_t i = 0; i < 70 * width; ++i) {
        const bool bad = first <= i / width && i / width <= last;
        const float x = got.data()[i];
        ASSERT_TRUE(bad ? x != x : x == want.data()[i]) << "row " << i / width;
      }
    };
    check_rows(dirty.dq, clean.dq, s.width, 50, 50);
    check_rows(dirty.dk, clean.dk, s.width, 0, 50);
    check_rows(dirty.dv, clean.dv, s.v_width, 0, 50);
  }
  // Key 20 is seen by the queries from 20 on: they are spoiled, and all keys that they see.
  BackwardBuffers<float> dirty(s, mask);
  dirty.k[20 * s.width + 3] = nan;
  dirty.run();
  for (index_t i = 0; i < 70; ++i) {
    for (index_t c = 0; c < s.width; ++c) {
      const float x = dirty.dq.data()[i * s.width + c];
      ASSERT_TRUE(i < 20 ? x == clean.dq.data()[i * s.width + c] : x != x) << "query " << i;
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, NothingIsWrongWithNothing) {
  for (const BackwardSizes& s : {BackwardSizes{0, 2, 5, 5, 3, 3}, BackwardSizes{1, 2, 0, 5, 3, 3},
                                 BackwardSizes{1, 2, 5, 0, 3, 3}, BackwardSizes{1, 2, 5, 5, 0, 3},
                                 BackwardSizes{1, 2, 5, 5, 3, 0}}) {
    BackwardBuffers<float> buffers(s);
    buffers.run(2);
    buffers.expect_gradients(1e-6);
  }
}

}  // namespace
}  // namespace tessera::test
