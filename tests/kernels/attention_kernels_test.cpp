// The attention kernel between guard bytes: the memory that it reads and writes, and independence
// of the size of its tasks.

#include "tests/support/attention_buffers.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionKernelsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionKernelsTest, each_isa(), isa_name);

template <class T>
void check_all_sizes(double allowed) {
  for (const AttentionSizes& s : {AttentionSizes{1, 1, 1, 1, 1, 1},
                                  {2, 3, 5, 7, 3, 2},
                                  {1, 2, 63, 129, 31, 33},
                                  {1, 1, 65, 127, 17, 16},
                                  {1, 1, 64, 128, 32, 64},
                                  {1, 1, 130, 257, 5, 130},
                                  {3, 1, 9, 300, 33, 7}}) {
    SCOPED_TRACE(str_cat(s.queries, " queries, ", s.keys, " keys, width ", s.width));
    const MaskParts mask = {.keep = random_tensor(s.scores(), kBool, 5),
                            .bias = random_tensor(s.scores(), kFloat32, 4, -1, 1)};
    AttentionBuffers<T> buffers(s, mask);
    kernels::AttentionArgs<T> args = buffers.forward_args();
    args.weights.rows = {buffers.weights.data(), s.heads * s.queries * s.keys, s.queries * s.keys,
                         s.keys};
    buffers.run_forward(args);
    const AttentionInputs x = buffers.inputs();
    const NaiveAttention want = naive_attention(x.q, x.k, x.v, mask, double(args.scale));
    EXPECT_TRUE(near(buffers.shaped(buffers.out, s.queries, s.v_width), want.output, 0, allowed));
    EXPECT_TRUE(near(from_vector(buffers.weights.values(), s.scores()), want.weights, 0, allowed));
  }
}

TEST_P(AttentionKernelsTest, StaysInsideItsBuffersInFloat) {
  check_all_sizes<float>(5e-6);
}

TEST_P(AttentionKernelsTest, StaysInsideItsBuffersInDouble) {
  check_all_sizes<double>(1e-13);
}

/// Checks that the output does not change if more keys are announced than exist.
void expect_no_read_beyond(const AttentionSizes& s,
                           void (*set_mask)(kernels::AttentionArgs<float>&)) {
  AttentionBuffers<float> buffers(s);
  kernels::AttentionArgs<float> args = buffers.forward_args();
  set_mask(args);
  buffers.run_forward(args);
  const std::vector<float> want = buffers.out.values();
  args.keys = 300;
  buffers.run_forward(args);
  EXPECT_TRUE(same_bits(buffers.out.values(), want));
}

TEST_P(AttentionKernelsTest, KeysBehindALengthAreNotReadAtAll) {
  static constexpr index_t kLength = 70;
  expect_no_read_beyond({1, 1, 9, kLength, 8, 24},
                        [](auto& args) { args.masks.lengths = &kLength; });
}

TEST_P(AttentionKernelsTest, TheFutureIsNotReadAtAll) {
  expect_no_read_beyond({1, 1, 70, 70, 8, 24}, [](auto& args) { args.masks.causal = true; });
}

TEST_P(AttentionKernelsTest, WhatNoWindowReachesIsNotReadAtAll) {
  expect_no_read_beyond({1, 1, 70, 75, 8, 24}, [](auto& args) { args.masks.window = 5; });
}

// A bias that depends only on j - i, like ALiBi's: one row of numbers, read backwards by queries.
TEST_P(AttentionKernelsTest, ABiasMayOverlapItself) {
  const AttentionSizes s = {1, 2, 70, 140, 8, 24};
  AttentionBuffers<float> buffers(s);
  kernels::AttentionArgs<float> args = buffers.forward_args();
  const index_t line = s.queries + s.keys - 1;
  Guarded<float> biases{random_values<float>(s.heads * line, 6), 1};
  args.masks.bias = {biases.data() + s.queries - 1, 0, line, -1, 1};
  buffers.run_forward(args);
  const std::vector<float> got = buffers.out.values();
  Guarded<float> whole{s.heads * s.queries * s.keys};
  for (index_t e = 0; e < s.heads * s.queries * s.keys; ++e) {
    const index_t h = e / (s.queries * s.keys), i = e / s.keys % s.queries, j = e % s.keys;
    whole[e] = biases[h * line + s.queries - 1 - i + j];
  }
  args.masks.bias = {whole.data(), 0, s.queries * s.keys, s.keys, 1};
  buffers.run_forward(args);
  EXPECT_TRUE(same_bits(got, buffers.out.values()));
}

struct Strides {
  index_t query, key;
};

/// The strides of a mask: rows or columns contiguous, equal rows, equal columns, a single element,
/// gaps, and backwards.
std::vector<Strides> strides_of_masks(const AttentionSizes& s) {
  return {{s.keys, 1}, {1, s.queries},  {0, 1}, {1, 0},          {0, 0},
          {s.keys, 0}, {2 * s.keys, 2}, {3, 2}, {-1, s.queries}, {-s.keys, 1}};
}

/// Checks that `mask` gives the same bits with any strides as a whole matrix of the same elements.
template <class U>
void expect_any_strides(kernels::PerScore<const U> kernels::AttentionMasks<float>::*mask,
                        const std::function<U(index_t)>& element) {
  const AttentionSizes s = {1, 1, 70, 140, 8, 24};
  AttentionBuffers<float> buffers(s);
  kernels::AttentionArgs<float> args = buffers.forward_args();
  for (const auto& [query, key] : strides_of_masks(s)) {
    SCOPED_TRACE(str_cat("strides ", query, ", ", key));
    const index_t first = query < 0 ? -query * (s.queries - 1) : 0;
    const index_t last = (query > 0 ? query * (s.queries - 1) : 0) + key * (s.keys - 1);
    Guarded<U> elements{first + last + 1};
    for (index_t e = 0; e <= first + last; ++e) elements[e] = element(e);
    args.masks.*mask = {elements.data() + first, 0, 0, query, key};
    buffers.run_forward(args);
    const std::vector<float> got = buffers.out.values();
    Guarded<U> whole{s.queries * s.keys};
    for (index_t e = 0; e < s.queries * s.keys; ++e) {
      whole[e] = elements[first + e / s.keys * query + e % s.keys * key];
    }
    args.masks.*mask = {whole.data(), 0, 0, s.keys, 1};
    buffers.run_forward(args);
    EXPECT_TRUE(same_bits(got, buffers.out.values()));
  }
}

TEST_P(AttentionKernelsTest, AMaskMayHaveAnyStrides) {
  const std::vector<float> numbers = random_values<float>(997, 7);
  const auto number = [&](index_t e) { return numbers[static_cast<std::size_t>(e % 997)]; };
  expect_any_strides<float>(&kernels::AttentionMasks<float>::bias, number);
  expect_any_strides<bool>(&kernels::AttentionMasks<float>::keep,
                           [&](index_t e) { return number(e) > 0; });
}

TEST_P(AttentionKernelsTest, AnyNumberOfWorkersGivesTheSameBits) {
  const AttentionSizes s = {2, 3, 130, 140, 9, 17};
  AttentionBuffers<float> buffers(s);
  kernels::AttentionArgs<float> args = buffers.forward_args();
  buffers.run_forward(args);
  const std::vector<float> want = buffers.out.values();
  for (index_t workers : {2, 3, 8, 40}) {
    args.workers = workers;
    buffers.run_forward(args);
    EXPECT_TRUE(same_bits(buffers.out.values(), want)) << workers << " workers";
  }
}

}  // namespace
}  // namespace tessera::test
