#include "models/pooling.h"

#include "models/models.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

Array naive_pool(const Pooling& pooling, const Tensor& x, const std::vector<index_t>& lengths) {
  const Array a = array(x);
  return build({a.shape[0], a.shape[2]}, [&](const Dims& at) {
    const index_t length = lengths[static_cast<std::size_t>(at[0])];
    double total = 0, weighted = 0, weights = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (index_t t = 0; t < length; ++t) {
      total += a.at({at[0], t, at[1]});
      weighted += static_cast<double>(t + 1) * a.at({at[0], t, at[1]});
      weights += static_cast<double>(t + 1);
      largest = std::max(largest, a.at({at[0], t, at[1]}));
    }
    if (pooling.name == "cls") return a.at({at[0], 0, at[1]});
    if (pooling.name == "lasttoken") return a.at({at[0], length - 1, at[1]});
    if (pooling.name == "weightedmean") return weighted / weights;
    if (pooling.name == "mean_sqrt_len_tokens") {
      return total / std::sqrt(static_cast<double>(length));
    }
    return pooling.name == "max" ? largest : total / static_cast<double>(length);
  });
}

TEST(Pooling, FollowsItsDefinition) {
  for (const Pooling& pooling : Pooling::all()) {
    for (DType dtype : {kFloat32, kFloat64}) {
      const Tensor x = random_tensor({3, 7, 5}, dtype, 2) - 3;  // zeros of padding would be larger
      EXPECT_TRUE(near(pooling(x, {.lengths = tensor({7, 1, 4})}),
                       naive_pool(pooling, x, {7, 1, 4}), 0, tolerance(dtype)));
      EXPECT_TRUE(near(pooling(x), naive_pool(pooling, x, {7, 7, 7}), 0, tolerance(dtype)));
    }
  }
}

TEST(Pooling, NeverLooksAtPadding) {
  for (const Pooling& pooling : Pooling::all()) {
    const Tensor x = random_tensor({1, 40, 5}, kFloat32, 2);
    Tensor padded = full({1, 60, 5}, std::nan(""));
    padded.slice(1, 0, 40).copy_from(x);
    EXPECT_TRUE(same_bits(pooling(padded, {.lengths = tensor({40})}), pooling(x)));
    EXPECT_TRUE(same_bits(pooling(padded, {.lengths = tensor({40})}),
                          pooling(x, {.lengths = tensor({40})})));
  }
}

TEST(Pooling, WeightedMeanCountsFromTheFirstPosition) {
  const Tensor x = tensor({{{3.0}, {7.0}}});
  const Tensor y = Pooling::kWeightedMean(x, {.positions = tensor({4, 5})});
  EXPECT_FLOAT_EQ(y.item<float>(), (5 * 3 + 6 * 7) / 11.0f);
}

TEST(Pooling, Gradients) {
  for (const Pooling& pooling : Pooling::all()) {
    EXPECT_TRUE(gradcheck(
        [&](const Tensors& x) {
          return pooling(x[0], {.lengths = tensor({4, 2})});
        },
        {values({2, 4, 3}, 1)}));
  }
}

TEST(Pooling, Errors) {
  const auto refuses = [](const std::vector<std::string>& parts, const Pooling& pooling,
                          const Tokens& tokens, const Tensor& x = zeros({2, 3, 4})) {
    EXPECT_TRUE(throws("pool", parts, [&] { pooling(x, tokens); }));
  };
  refuses({"(B, T, D)", "(3, 4)"}, Pooling::kMean, {}, zeros({3, 4}));
  refuses({"(3,)", "(2,)"}, Pooling::kMean, {.lengths = tensor({1, 2, 3})});
  refuses({"lengths must be from 1 to 3", "got 0"}, Pooling::kMax, {.lengths = tensor({1, 0})});
  refuses({"lengths must be from 1 to 3", "got 4"}, Pooling::kMean, {.lengths = tensor({1, 4})});
  refuses({"(2, 5)", "(2, 3)"}, Pooling::kMean, {.ids = zeros({2, 5}, kInt64)});
  refuses({"must have a function"}, Pooling{}, {});
  refuses({"at least 1 token", "(2, 0, 4)"}, Pooling::kCls, {}, zeros({2, 0, 4}));
  EXPECT_TRUE(throws("real_tokens", {"lengths must be int64"}, [] { real_tokens(ones({2}), 3); }));
  EXPECT_TRUE(throws("real_tokens", {"count must be at least 0", "got -1"},
                     [] { real_tokens(ones({2}, kInt64), -1); }));
  EXPECT_TRUE(throws("op", {"batch must be (B, T)", "got (2,)"},
                     [] { check_tokens("op", {.lengths = ones({2}, kInt64)}, {2}); }));
  EXPECT_TRUE(throws("Pooling", {"median", "mean, cls, max", "lasttoken"},
                     [] { Pooling::named("median"); }));
}

TEST(Pooling, HasNames) {
  for (const Pooling& pooling : Pooling::all()) {
    EXPECT_EQ(Pooling::named(pooling.name).function, pooling.function);
  }
  EXPECT_EQ(Pooling::named("max").function, Pooling::kMax.function);
}

// A pooling defined by a user, which reads the ids: the mean of the tokens that are not number 4.
TEST(Pooling, MayBeOnesOwn) {
  constexpr Pooling kOwn = {"own", [](const Tensor& x, const Tokens& tokens) {
                              const Tensor used = ne(tokens.ids, 4).unsqueeze(-1).to(x.dtype());
                              return sum(x * used, {1}) / sum(used, {1});
                            }};
  const auto model = make_model<SequenceClassifier>(
      SequenceClassifierOptions{.tokens = tiny_tokens(), .classes = 3, .pooling = kOwn});
  const Tensor ids = tensor({{4, 5, 6}, {7, 4, 8}});
  const Tensor x = model.encode(ids);
  const Tensor want =
      concat({(x.slice(0, 0, 1).slice(1, 1, 3)), x.slice(0, 1, 2).slice(1, 0, 3, 2)});
  EXPECT_TRUE(allclose(model(ids), model.classifier(mean(want, {1})), 1e-5, 1e-6));
}

}  // namespace
}  // namespace tessera::models
