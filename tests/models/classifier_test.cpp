#include "models/classifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/module.h"
#include "tensor/error.h"
#include "tests/support/errors.h"
#include "tests/support/gradcheck.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

SequenceClassifier make(Pooling pooling) {
  return make_model<SequenceClassifier>(
      SequenceClassifierOptions{.tokens = tiny_tokens(), .classes = 4, .pooling = pooling});
}

TokenClassifier make_tokens() {
  return make_model<TokenClassifier>(TokenClassifierOptions{.tokens = tiny_tokens(), .classes = 4});
}

const Tensor kTokens = tensor({{4, 5, 6, 7, 10}, {8, 9, 4, 0, 0}});
const Tensor kLengths = tensor({5, 3});
constexpr Pooling kPoolings[] = {Pooling::kMean, Pooling::kCls, Pooling::kMax};

Array naive_pool(Pooling pooling, const Tensor& x, const std::vector<index_t>& lengths) {
  const Array a = array(x);
  return build({a.shape[0], a.shape[2]}, [&](const Dims& at) {
    const index_t length = lengths[static_cast<std::size_t>(at[0])];
    double total = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (index_t t = 0; t < length; ++t) {
      total += a.at({at[0], t, at[1]});
      largest = std::max(largest, a.at({at[0], t, at[1]}));
    }
    if (pooling == Pooling::kCls) return a.at({at[0], 0, at[1]});
    return pooling == Pooling::kMax ? largest : total / static_cast<double>(length);
  });
}

TEST(Pool, FollowsItsDefinition) {
  for (Pooling pooling : kPoolings) {
    for (DType dtype : {kFloat32, kFloat64}) {
      const Tensor x = random_tensor({3, 7, 5}, dtype, 2) - 3;  // zeros of padding would be larger
      EXPECT_TRUE(near(pool(pooling, x, tensor({7, 1, 4})), naive_pool(pooling, x, {7, 1, 4}), 0,
                       tolerance(dtype)));
      EXPECT_TRUE(near(pool(pooling, x), naive_pool(pooling, x, {7, 7, 7}), 0, tolerance(dtype)));
    }
  }
}

TEST(Pool, NeverLooksAtPadding) {
  for (Pooling pooling : kPoolings) {
    const Tensor x = random_tensor({1, 40, 5}, kFloat32, 2);
    Tensor padded = full({1, 60, 5}, std::nan(""));
    padded.slice(1, 0, 40).copy_from(x);
    EXPECT_TRUE(same_bits(pool(pooling, padded, tensor({40})), pool(pooling, x)));
    EXPECT_TRUE(same_bits(pool(pooling, padded, tensor({40})), pool(pooling, x, tensor({40}))));
  }
}

TEST(Pool, Gradients) {
  for (Pooling pooling : kPoolings) {
    EXPECT_TRUE(gradcheck(
        [&](const Tensors& x) {
          return pool(pooling, x[0], tensor({4, 2}));
        },
        {values({2, 4, 3}, 1)}));
  }
}

TEST(Pool, Errors) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_TRUE(throws("pool", {"(B, T, D)", "(3, 4)"}, [&] {
    pool(Pooling::kMean, zeros({3, 4}));
  }));
  EXPECT_TRUE(throws("pool", {"(3,)", "(2, 3, 4)"}, [&] {
    pool(Pooling::kMean, x, tensor({1, 2, 3}));
  }));
  EXPECT_TRUE(throws("pool", {"without"}, [&] { pool(Pooling::kMax, x, tensor({1, 0})); }));
  EXPECT_TRUE(throws("pool", {"3 tokens"}, [&] { pool(Pooling::kMean, x, tensor({1, 4})); }));
  EXPECT_TRUE(throws("pool", {"no token"}, [&] { pool(Pooling::kCls, zeros({2, 0, 4})); }));
}

TEST(SequenceClassifier, IsItsPartsInARow) {
  for (Pooling pooling : kPoolings) {
    const SequenceClassifier model = make(pooling);
    const Tensor scores = model(kTokens, kLengths);
    EXPECT_EQ(scores.shape(), (Shape{2, 4}));
    const Tensor pooled = pool(pooling, model.encode(kTokens, kLengths), kLengths);
    EXPECT_TRUE(same_bits(scores, model.classifier(pooled)));
  }
}

TEST(SequenceClassifier, PaddingAndBatchDoNotChangeTheBits) {
  for (Pooling pooling : kPoolings) {
    const SequenceClassifier model = make(pooling);
    const Tensor whole = model(kTokens, kLengths);
    EXPECT_TRUE(same_bits(whole.slice(0, 0, 1), model(kTokens.slice(0, 0, 1))));
    EXPECT_TRUE(same_bits(whole.slice(0, 1, 2), model(kTokens.slice(0, 1, 2).slice(1, 0, 3))));
  }
}

TEST(SequenceClassifier, DropsInTraining) {
  SequenceClassifier model = make(Pooling::kMean);
  const Tensor still = model(kTokens, kLengths);
  model.dropout = nn::Dropout(0.5);
  EXPECT_FALSE(same_bits(model(kTokens, kLengths), still));
}

TEST(TokenClassifier, IsItsPartsInARow) {
  const TokenClassifier model = make_tokens();
  const Tensor scores = model(kTokens, kLengths);
  EXPECT_EQ(scores.shape(), (Shape{2, 5, 4}));
  EXPECT_TRUE(same_bits(scores, model.classifier(model.encode(kTokens, kLengths))));
  const Tensor alone = model(kTokens.slice(0, 1, 2).slice(1, 0, 3));
  EXPECT_TRUE(same_bits(scores.select(0, 1).slice(0, 0, 3), alone.select(0, 0)));
}

TEST(Classifiers, RefuseToHaveNoClass) {
  for (index_t classes : {0, -1}) {
    EXPECT_TRUE(throws("SequenceClassifier", {"classes", format(classes)},
                       [&] { SequenceClassifier({.tokens = tiny_tokens(), .classes = classes}); }));
    EXPECT_TRUE(throws("TokenClassifier", {"classes", format(classes)},
                       [&] { TokenClassifier({.tokens = tiny_tokens(), .classes = classes}); }));
  }
}

}  // namespace
}  // namespace tessera::models
