// The attention kernel between guard bytes: what it reads and writes, and that the size
// of its tasks does not matter.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

using AttentionKernelsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionKernelsTest, each_isa(), isa_name);

struct Sizes {
  index_t batch, heads, queries, keys, width, v_width;
};

/// Inputs in guarded memory, in rows of (batch, heads, tokens, width) without gaps.
template <class T>
struct Buffers {
  Sizes s;
  index_t scores = s.batch * s.heads * s.queries * s.keys;
  Guarded<T> q{random_values<T>(s.batch * s.heads * s.queries * s.width, 1), 1};
  Guarded<T> k{random_values<T>(s.batch * s.heads * s.keys * s.width, 2), 3};
  Guarded<T> v{random_values<T>(s.batch * s.heads * s.keys * s.v_width, 3), 5};
  Guarded<T> bias{random_values<T>(scores, 4), 1};
  Guarded<bool> keep{scores};
  Guarded<T> out{s.batch * s.heads * s.queries * s.v_width, 1};
  Guarded<T> weights{scores, 2};

  kernels::AttentionArgs<T> args() {
    kernels::AttentionArgs<T> a = {};
    a.batch = s.batch;
    a.heads = s.heads;
    a.queries = s.queries;
    a.keys = s.keys;
    a.width = s.width;
    a.v_width = s.v_width;
    a.q = q.data();
    a.k = k.data();
    a.v = v.data();
    a.out = out.data();
    set(a.q_strides, s.queries, s.width);
    set(a.k_strides, s.keys, s.width);
    set(a.v_strides, s.keys, s.v_width);
    set(a.out_strides, s.queries, s.v_width);
    a.scale = static_cast<T>(1 / std::sqrt(static_cast<double>(s.width)));
    return a;
  }
  void add_masks_and_weights(kernels::AttentionArgs<T>& a) {
    for (index_t i = 0; i < scores; ++i) keep[i] = i % 7 != 3;
    a.keep = keep.data();
    a.bias = bias.data();
    a.weights = weights.data();
    set(a.weights_strides, s.queries, s.keys);
    for (index_t i = 0; i < 3; ++i) a.keep_strides[i] = a.bias_strides[i] = a.weights_strides[i];
    a.keep_strides[3] = a.bias_strides[3] = 1;
  }
  void expect_intact() {
    for (Guarded<T>* buffer : {&q, &k, &v, &bias, &out, &weights}) EXPECT_TRUE(buffer->intact());
    EXPECT_TRUE(keep.intact());
  }

 private:
  void set(index_t (&strides)[3], index_t tokens, index_t width) const {
    strides[0] = s.heads * tokens * width;
    strides[1] = tokens * width;
    strides[2] = width;
  }
};

template <class T>
void run(kernels::AttentionArgs<T> args) {
  const auto& kernel = kernels::table().of<T>();
  Guarded<T> workspace(kernel.attention_workspace(args), 1);
  args.workspace = workspace.data();
  for (index_t i = 0; i < kernel.attention_workspace(args); ++i) {
    workspace[i] = std::numeric_limits<T>::quiet_NaN();  // its contents do not matter
  }
  kernel.attention(args);
  EXPECT_TRUE(workspace.intact());
}

template <class T>
void check_all_sizes(double allowed) {
  for (const Sizes& s :
       {Sizes{1, 1, 1, 1, 1, 1}, Sizes{2, 3, 5, 7, 3, 2}, Sizes{1, 2, 63, 129, 31, 33},
        Sizes{1, 1, 65, 127, 17, 16}, Sizes{1, 1, 64, 128, 32, 64}, Sizes{1, 1, 130, 257, 5, 130},
        Sizes{3, 1, 9, 300, 33, 7}}) {
    SCOPED_TRACE(str_cat(s.queries, " queries, ", s.keys, " keys, width ", s.width));
    Buffers<T> buffers{s};
    kernels::AttentionArgs<T> args = buffers.args();
    buffers.add_masks_and_weights(args);
    run(args);
    buffers.expect_intact();

    const auto shaped = [&](const std::vector<T>& values, index_t tokens, index_t width) {
      return from_vector(values, {s.batch, s.heads, tokens, width});
    };
    std::vector<bool> keep = buffers.keep.values();
    const MaskParts mask = {.keep = from_vector(keep, {s.batch, s.heads, s.queries, s.keys}),
                            .bias = shaped(buffers.bias.values(), s.queries, s.keys)};
    const NaiveAttention want = naive_attention(
        shaped(buffers.q.values(), s.queries, s.width), shaped(buffers.k.values(), s.keys, s.width),
        shaped(buffers.v.values(), s.keys, s.v_width), mask, double(args.scale));
    EXPECT_TRUE(near(shaped(buffers.out.values(), s.queries, s.v_width), want.output, 0, allowed));
    EXPECT_TRUE(
        near(shaped(buffers.weights.values(), s.queries, s.keys), want.weights, 0, allowed));
  }
}

TEST_P(AttentionKernelsTest, StaysInsideItsBuffersInFloat) {
  check_all_sizes<float>(3e-6);
}

TEST_P(AttentionKernelsTest, StaysInsideItsBuffersInDouble) {
  check_all_sizes<double>(1e-14);
}

TEST_P(AttentionKernelsTest, KeysBehindALengthAreNotReadAtAll) {
  // Only the first 70 keys exist; the others lie in the wall behind the buffers.
  const Sizes s = {1, 1, 9, 70, 8, 24};
  Buffers<float> buffers{s};
  kernels::AttentionArgs<float> args = buffers.args();
  run(args);
  const std::vector<float> want = buffers.out.values();
  const index_t length = s.keys;
  args.keys = 200;
  args.lengths = &length;
  run(args);
  EXPECT_TRUE(same_bits(buffers.out.values(), want));
}

/// That the output does not change where more keys are announced than there are.
void expect_no_read_beyond(const Sizes& s, void (*set_mask)(kernels::AttentionArgs<float>&)) {
  Buffers<float> buffers{s};
  kernels::AttentionArgs<float> args = buffers.args();
  set_mask(args);
  run(args);
  const std::vector<float> want = buffers.out.values();
  args.keys = 300;
  run(args);
  EXPECT_TRUE(same_bits(buffers.out.values(), want));
}

TEST_P(AttentionKernelsTest, TheFutureIsNotReadAtAll) {
  expect_no_read_beyond({1, 1, 70, 70, 8, 24}, [](auto& args) { args.causal = true; });
}

TEST_P(AttentionKernelsTest, WhatNoWindowReachesIsNotReadAtAll) {
  expect_no_read_beyond({1, 1, 70, 75, 8, 24}, [](auto& args) { args.window = 5; });
}

// A bias that depends on j - i alone, as ALiBi's: one row of numbers, read backwards by queries.
TEST_P(AttentionKernelsTest, ABiasMayOverlapItself) {
  const Sizes s = {1, 2, 70, 140, 8, 24};
  Buffers<float> buffers{s};
  kernels::AttentionArgs<float> args = buffers.args();
  const index_t line = s.queries + s.keys - 1;
  Guarded<float> biases{random_values<float>(s.heads * line, 6), 1};
  args.bias = biases.data() + s.queries - 1;
  const index_t strides[4] = {0, line, -1, 1};
  for (index_t i = 0; i < 4; ++i) args.bias_strides[i] = strides[i];
  run(args);
  const std::vector<float> got = buffers.out.values();
  Guarded<float> whole{s.heads * s.queries * s.keys};
  for (index_t e = 0; e < s.heads * s.queries * s.keys; ++e) {
    const index_t h = e / (s.queries * s.keys), i = e / s.keys % s.queries, j = e % s.keys;
    whole[e] = biases[h * line + s.queries - 1 - i + j];
  }
  args.bias = whole.data();
  const index_t plain[4] = {0, s.queries * s.keys, s.keys, 1};
  for (index_t i = 0; i < 4; ++i) args.bias_strides[i] = plain[i];
  run(args);
  EXPECT_TRUE(same_bits(got, buffers.out.values()));
}

TEST_P(AttentionKernelsTest, AnyNumberOfWorkersGivesTheSameBits) {
  const Sizes s = {2, 3, 130, 140, 9, 17};
  Buffers<float> buffers{s};
  kernels::AttentionArgs<float> args = buffers.args();
  run(args);
  const std::vector<float> want = buffers.out.values();
  for (index_t workers : {2, 3, 8, 40}) {
    args.workers = workers;
    run(args);
    EXPECT_TRUE(same_bits(buffers.out.values(), want)) << workers << " workers";
  }
}

}  // namespace
}  // namespace tessera::test
