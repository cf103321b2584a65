#include "models/pair_classifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "nn/module.h"
#include "tests/support/errors.h"
#include "tests/support/model_gradcheck.h"

namespace tessera::models {
namespace {

using namespace test;

constexpr index_t kWords = 11;
constexpr index_t kBuckets = 1000;

PairClassifier make(index_t buckets = kBuckets) {
  PairClassifier model({.vocabulary_size = kWords, .classes = 3, .buckets = buckets, .scale = 2});
  Rng rng(5);
  model.weight = randn(model.weight.shape(), kFloat64, rng);
  return model;
}

const Tensor kTokens = tensor({{4, 5, 6, 5, 6}, {8, 9, 4, 0, 0}});
const Tensor kLengths = tensor({5, 3});

/// The row of a pair: the only one behind the vocabulary's that its text gives a gradient.
index_t row_of(index_t first, index_t second) {
  PairClassifier model = make();
  nn::set_requires_grad(model);
  Tape tape;
  tape.backward(sum(model(tensor({{first, second}}))));
  const Tensor gradient = model.weight.grad();
  index_t row = -1, rows = 0;
  for (index_t r = kWords; r < kWords + kBuckets; ++r) {
    if (gradient.item_at({r, 0}) == 0) continue;
    row = r;
    ++rows;
  }
  EXPECT_EQ(rows, 1);
  return row;
}

TEST(PairClassifier, FollowsItsFormula) {
  const PairClassifier model = make();
  const Tensor scores = model(kTokens, kLengths);
  ASSERT_EQ(scores.shape(), (Shape{2, 3}));
  for (index_t b = 0; b < 2; ++b) {
    const index_t n = kLengths.item_at<index_t>({b});
    for (index_t c = 0; c < 3; ++c) {
      double want = 0;
      for (index_t t = 0; t < n; ++t) {
        const auto word = kTokens.item_at<index_t>({b, t});
        want += model.weight.item_at({word, c});
        if (t == 0) continue;
        want += model.weight.item_at({row_of(kTokens.item_at<index_t>({b, t - 1}), word), c});
      }
      want *= 2 / std::sqrt(2.0 * static_cast<double>(n) - 1);
      EXPECT_NEAR(scores.item_at({b, c}), want, 1e-12);
    }
  }
}

TEST(PairClassifier, PairsHaveRowsOfTheirOwn) {
  std::set<index_t> rows;
  for (index_t first = 4; first < kWords; ++first) {
    for (index_t second = 4; second < kWords; ++second) rows.insert(row_of(first, second));
  }
  EXPECT_GT(rows.size(), 44U);  // of 49: chance makes one or two meet
  EXPECT_NE(row_of(4, 5), row_of(5, 4));
  EXPECT_EQ(row_of(4, 5), 696);  // checkpoints rest on them
  EXPECT_EQ(row_of(5, 4), 801);
}

TEST(PairClassifier, PaddingAndBatchDoNotChangeTheBits) {
  const PairClassifier model = make();
  const Tensor whole = model(kTokens, kLengths);
  EXPECT_TRUE(same_bits(whole.slice(0, 0, 1), model(kTokens.slice(0, 0, 1))));
  EXPECT_TRUE(same_bits(whole.slice(0, 1, 2), model(kTokens.slice(0, 1, 2).slice(1, 0, 3))));
}

TEST(PairClassifier, StartsWithoutAnOpinion) {
  const PairClassifier model({.vocabulary_size = kWords, .classes = 3});
  EXPECT_EQ(model.weight.shape(), (Shape{kWords + 131'072, 3}));
  EXPECT_TRUE(same_bits(model(kTokens, kLengths), zeros({2, 3})));
}

TEST(PairClassifier, Gradients) {
  EXPECT_TRUE(module_gradients_agree(
      make(7), [](const PairClassifier& model) { return model(kTokens, kLengths); }));
}

TEST(PairClassifier, Errors) {
  const PairClassifier model = make();
  EXPECT_TRUE(throws("PairClassifier", {"(B, T)", "(3,)"}, [&] { model(tensor({1, 2, 3})); }));
  EXPECT_TRUE(throws("PairClassifier", {"(B, T)"}, [&] { model(Tensor()); }));
  EXPECT_TRUE(throws("PairClassifier", {"float32"}, [&] { model(zeros({1, 2})); }));
  EXPECT_TRUE(throws("PairClassifier", {"no token"}, [&] { model(zeros({2, 0}, kInt64)); }));
  EXPECT_TRUE(throws("PairClassifier", {"(2,)", "(1,)"}, [&] { model(kTokens, tensor({5})); }));
  EXPECT_TRUE(throws("PairClassifier", {"6", "5"}, [&] { model(kTokens, tensor({5, 6})); }));
  EXPECT_TRUE(throws("PairClassifier", {"11"}, [&] { model(tensor({{11}})); }));
  EXPECT_TRUE(throws("PairClassifier", {"-1"}, [&] { model(tensor({{-1}})); }));
  PairClassifier cut = model;
  cut.weight = cut.weight.slice(0, 0, kWords);
  EXPECT_TRUE(throws("PairClassifier", {"(11, 3)"}, [&] { cut(kTokens, kLengths); }));
  for (double scale : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    EXPECT_TRUE(throws("PairClassifier", {"scale"}, [&] {
      PairClassifier({.vocabulary_size = 5, .classes = 2, .scale = scale});
    }));
  }
  EXPECT_TRUE(throws("PairClassifier", {"buckets 0"},
                     [&] { PairClassifier({.vocabulary_size = 5, .classes = 2, .buckets = 0}); }));
}

}  // namespace
}  // namespace tessera::models
