// The backward of the attention kernel between guard bytes, compared with its definition: sizes,
// masks, and divisions of the work.

#include "tests/support/attention_buffers.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionBackwardKernelsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionBackwardKernelsTest, each_isa(), isa_name);

// A query's 300 terms of size 2 and their rounding.
template <class T>
constexpr double kAllowed = sizeof(T) == sizeof(float) ? 4e-5 : 1e-13;

template <class T>
void check(const AttentionSizes& s, index_t kinds, std::uint64_t seed) {
  SCOPED_TRACE(str_cat(s.queries, " queries, ", s.keys, " keys, width ", s.width, " and ",
                       s.v_width, ", masks ", kinds));
  AttentionBuffers<T> buffers(s, random_mask(kinds, s.scores(), seed, 0),
                              kinds & 8 ? s.scores() : Shape{});
  buffers.run();
  buffers.expect_gradients(kAllowed<T>);
}

template <class T>
void check_all_lengths() {
  constexpr std::array<index_t, 9> kTokens = {1, 5, 47, 48, 49, 64, 65, 130, 200};
  constexpr std::array<index_t, 7> kWidths = {1, 8, 17, 32, 64, 65, 80};
  index_t number = 0;  // each pair of lengths gets different widths and masks
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

// Ranges of keys that begin and stop at any position of a tile, for any number of workers.
TEST_P(AttentionBackwardKernelsTest, AWindowHasTheBitsOfTheSameKeysKept) {
  constexpr std::array<index_t, 6> kTokens = {1, 49, 64, 130, 257, 300};
  constexpr std::array<index_t, 6> kWindows = {0, 3, 47, 64, 128, 200};
  index_t number = 0;
  for (index_t queries : kTokens) {
    for (index_t keys : kTokens) {
      const AttentionSizes s = {2, 1, queries, keys, 9, 17};
      MaskParts mask = random_mask(number * 5 % 16, s.scores(), 3, 0);
      mask.window = kWindows[static_cast<std::size_t>(number % 6 + number / 6) % 6];
      SCOPED_TRACE(str_cat(queries, " queries, ", keys, " keys, window ", *mask.window, ", masks ",
                           number * 5 % 16));
      AttentionBuffers<float> kept(s, with_window_kept(mask, s.scores()), s.scores());
      kept.run();
      for (index_t workers : {1, 2, 5}) {
        AttentionBuffers<float> got(s, mask, s.scores());
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
  const AttentionSizes s = {2, 3, 50, 70, 9, 17};
  for (const Shape& shape :
       {Shape{2, 3, 50, 70}, Shape{3, 50, 70}, Shape{50, 70}, Shape{2, 1, 50, 70}, Shape{70},
        Shape{2, 1, 1, 70}, Shape{3, 1, 70}, Shape{50, 1}, Shape{1}, Shape{2, 3, 50, 1}}) {
    SCOPED_TRACE(str_cat("bias ", shape));
    const MaskParts mask = {.causal = true, .bias = random_tensor(shape, kFloat32, 7)};
    AttentionBuffers<double> one(s, mask, shape);
    one.run();
    one.expect_gradients(1e-13);
    for (index_t workers : {2, 3, 8}) {
      AttentionBuffers<double> more(s, mask, shape);
      more.run(workers);
      EXPECT_TRUE(same_bits(more.gradients(), one.gradients())) << workers << " workers";
    }
  }
}

TEST_P(AttentionBackwardKernelsTest, TheForwardHasTheSameBitsWithoutItsStatistics) {
  const AttentionSizes s = {2, 2, 131, 140, 9, 17};
  for (index_t kinds = 0; kinds < 16; ++kinds) {
    AttentionBuffers<float> with(s, random_mask(kinds, s.scores(), 3, 0));
    AttentionBuffers<float> without(s, random_mask(kinds, s.scores(), 3, 0));
    with.run();
    without.run_forward(without.forward_args());
    EXPECT_TRUE(same_bits(without.out.values(), with.out.values())) << "masks " << kinds;
  }
}

TEST_P(AttentionBackwardKernelsTest, KeysMaskedAtTheEndChangeNoBit) {
  const AttentionSizes s = {2, 2, 60, 70, 8, 24};
  AttentionBuffers<float> all(s);
  all.run();
  AttentionSizes padded = s;
  padded.keys = 150;
  const MaskParts by_length = {.lengths = {70, 70}};
  MaskParts by_mask = {.keep = ones({150}, kBool)};
  by_mask.keep.slice(0, 70).fill(0);
  for (const MaskParts& mask : {by_length, by_mask}) {
    AttentionBuffers<float> more(padded, mask);
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
T* row_of(Guarded<T>& x, const AttentionSizes& s, index_t width, index_t head, index_t token) {
  return x.data() + (token * s.heads + head) * width;
}

TEST_P(AttentionBackwardKernelsTest, WhatNoWeightLeadsToDoesNotShow) {
  const AttentionSizes s = {1, 2, 100, 100, 17, 19};
  MaskParts mask = {.keep = ones({100, 100}, kBool)};
  mask.keep.select(1, 3).fill(0);   // no query sees key 3
  mask.keep.select(0, 70).fill(0);  // query 70 sees no key
  AttentionBuffers<float> clean(s, mask);
  clean.run();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), INFINITY, -INFINITY}) {
    AttentionBuffers<float> dirty(s, mask);
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
  const AttentionSizes s = {1, 1, 70, 70, 17, 19};
  const MaskParts mask = {.causal = true};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  AttentionBuffers<float> clean(s, mask);
  clean.run();
  // Query 50 sees the keys up to 50, and no other query's gradient depends on it.
  for (const bool in_gradient : {false, true}) {
    AttentionBuffers<float> dirty(s, mask);
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
  AttentionBuffers<float> dirty(s, mask);
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
  for (const AttentionSizes& s :
       {AttentionSizes{0, 2, 5, 5, 3, 3}, AttentionSizes{1, 2, 0, 5, 3, 3},
        AttentionSizes{1, 2, 5, 0, 3, 3}, AttentionSizes{1, 2, 5, 5, 0, 3},
        AttentionSizes{1, 2, 5, 5, 3, 0}}) {
    AttentionBuffers<float> buffers(s);
    buffers.run(2);
    buffers.expect_gradients(1e-6);
  }
}

}  // namespace
}  // namespace tessera::test
