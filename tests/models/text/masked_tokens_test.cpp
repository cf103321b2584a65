#include "tessera/models/text/masked_tokens.h"

#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using Ids = std::vector<index_t>;
const SpecialTokens kSpecial = {.pad = 0, .unknown = 1, .cls = 2, .mask = 3};
constexpr index_t kPad = 0, kUnknown = 1, kCls = 2, kMask = 3;
constexpr index_t kFirst = 4;   // the first one that is not special
constexpr index_t kSize = 104;  // a hundred tokens that are not special

Tensor random_tokens(const Shape& shape) {
  Rng rng(21);
  return randint(0, kSize, shape, rng);
}

TEST(TokenWindows, CoverTheTextOnce) {
  const auto windows = token_windows(Ids{10, 11, 12, 13, 14}, 3, kCls);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].ids, (Ids{kCls, 10, 11}));
  EXPECT_EQ(windows[1].ids, (Ids{kCls, 12, 13}));
  EXPECT_EQ(windows[2].ids, (Ids{kCls, 14}));
  EXPECT_EQ(token_windows(Ids{10, 11, 12, 13}, 3, kCls).size(), 2u);
  EXPECT_TRUE(token_windows(Ids{}, 3).empty());
  EXPECT_TRUE(
      test::throws("token_windows", {"at least 2"}, [] { token_windows(Ids{1}, 1, kCls); }));
  const auto bare = token_windows(Ids{10, 11, 12}, 2);
  ASSERT_EQ(bare.size(), 2u);
  EXPECT_EQ(bare[0].ids, (Ids{10, 11}));
  EXPECT_EQ(bare[1].ids, (Ids{12}));
  EXPECT_TRUE(test::throws("token_windows", {"at least 1"}, [] { token_windows(Ids{1}, 0); }));
}

TEST(MaskTokens, ChoosesAndHidesInTheRightShares) {
  const Tensor tokens = random_tokens({400, 500});
  Rng rng(1);
  const MaskedTokens result = mask_tokens(tokens, kSpecial, kSize, rng);
  const Ids original = tokens.to_vector<index_t>();
  const Ids seen = result.ids.to_vector<index_t>();
  const Ids labels = result.labels.to_vector<index_t>();
  double ordinary = 0, chosen = 0, masked = 0, same = 0;
  std::vector<double> replacements(static_cast<std::size_t>(kSize), 0);
  for (std::size_t i = 0; i < original.size(); ++i) {
    ordinary += original[i] >= kFirst ? 1 : 0;
    if (labels[i] == kIgnoreIndex) {
      ASSERT_EQ(seen[i], original[i]);
      continue;
    }
    ASSERT_EQ(labels[i], original[i]);
    ASSERT_GE(original[i], kFirst) << "a special token was chosen";
    ++chosen;
    ++(seen[i] == kMask         ? masked
       : seen[i] == original[i] ? same
                                : replacements[static_cast<std::size_t>(seen[i])]);
  }
  EXPECT_EQ(static_cast<double>(result.count), chosen);
  // Five standard deviations of each share.
  const auto near = [](double count, double of, double p) {
    return std::abs(count - of * p) <= 5 * std::sqrt(of * p * (1 - p));
  };
  EXPECT_TRUE(near(chosen, ordinary, 0.15)) << chosen << " of " << ordinary;
  EXPECT_TRUE(near(masked, chosen, 0.8)) << masked << " of " << chosen;
  EXPECT_TRUE(near(same, chosen, 0.1 + 0.1 / 100)) << same << " of " << chosen;
  for (index_t id = 0; id < kSize; ++id) {
    const double count = replacements[static_cast<std::size_t>(id)];
    if (id < kFirst) {
      EXPECT_EQ(count, 0) << id;
    } else {
      EXPECT_TRUE(near(count, chosen, 0.1 / 100)) << id << ": " << count;
    }
  }
}

TEST(MaskTokens, NeverChoosesSpecialTokens) {
  const Tensor tokens = tensor({{kCls, 9, kPad, kUnknown}, {kMask, kPad, 9, kPad}});
  Rng rng(1);
  const MaskedTokens all =
      mask_tokens(tokens, kSpecial, kSize, rng,
                  {.mlm_probability = 1, .mask_replace_prob = 1, .random_replace_prob = 0});
  constexpr index_t kNo = kIgnoreIndex;
  EXPECT_EQ(all.labels.to_vector<index_t>(), (Ids{kNo, 9, kNo, kNo, kNo, kNo, 9, kNo}));
  EXPECT_EQ(all.ids.to_vector<index_t>(), (Ids{2, 3, 0, 1, 3, 0, 3, 0}));
  EXPECT_EQ(all.count, 2);
  EXPECT_EQ(tokens.item_at({0, 1}), 9) << "the tokens given must stay as they are";
}

TEST(MaskTokens, TakesSpecialTokensWhereverTheyStand) {
  const SpecialTokens special = {.pad = 9, .cls = 4, .sep = 4, .mask = 0};
  Rng rng(1);
  const Tensor tokens = randint(0, 10, {100, 100}, rng);
  const MaskedTokens all =
      mask_tokens(tokens, special, 10, rng,
                  {.mlm_probability = 1, .mask_replace_prob = 0.5, .random_replace_prob = 0.5});
  const Ids original = tokens.to_vector<index_t>();
  const Ids seen = all.ids.to_vector<index_t>();
  const Ids labels = all.labels.to_vector<index_t>();
  std::vector<int> counts(10);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    ASSERT_EQ(labels[i], special.contains(original[i]) ? kIgnoreIndex : original[i]);
    if (labels[i] != kIgnoreIndex) ++counts[static_cast<std::size_t>(seen[i])];
  }
  for (const index_t ordinary : {1, 2, 3, 5, 6, 7, 8}) {
    EXPECT_NEAR(counts[static_cast<std::size_t>(ordinary)], 500, 120) << ordinary;
  }
  EXPECT_NEAR(counts[0], 3500, 250);
  EXPECT_EQ(counts[4] + counts[9], 0);
}

TEST(MaskTokens, NeedsAMaskOnlyWhereItHides) {
  const Tensor tokens = tensor({{5, 6}});
  Rng rng(1);
  EXPECT_TRUE(test::throws("mask_tokens", {"special.mask must be a token"},
                           [&] { mask_tokens(tokens, {}, 9, rng); }));
  EXPECT_EQ(mask_tokens(tokens, {}, 9, rng, {.mlm_probability = 1, .mask_replace_prob = 0}).count,
            2);
  EXPECT_TRUE(test::throws("mask_tokens",
                           {"special tokens must be at least 0 and below vocab_size 9, got 9"},
                           [&] { mask_tokens(tokens, {.mask = 9}, 9, rng); }));
}

TEST(SpecialMask, IsTrueAtSpecialTokens) {
  const Tensor mask = special_mask(tensor({{0, 4, 3}, {5, 1, 2}}), kSpecial);
  EXPECT_EQ(mask.shape(), (Shape{2, 3}));
  EXPECT_EQ(mask.to(kInt64).to_vector<index_t>(), (Ids{1, 0, 1, 0, 1, 1}));
  EXPECT_EQ(special_mask(tensor({0, 1}), {}).to(kInt64).to_vector<index_t>(), (Ids{0, 0}));
}

TEST(MaskTokens, ChoosesAtLeastOneWhereItCan) {
  Rng rng(1);
  const Tensor tokens = tensor({{kCls, 9, 10, 11}});
  bool seen[4] = {};
  for (int i = 0; i < 100; ++i) {
    const MaskedTokens result =
        mask_tokens(tokens, kSpecial, kSize, rng, {.mlm_probability = 1e-6});
    ASSERT_EQ(result.count, 1);
    for (index_t at = 0; at < 4; ++at) {
      if (result.labels.item_at<index_t>({0, at}) != kIgnoreIndex) seen[at] = true;
    }
  }
  EXPECT_TRUE(!seen[0] && seen[1] && seen[2] && seen[3]);
  EXPECT_EQ(mask_tokens(tokens, kSpecial, kSize, rng, {.mlm_probability = 0}).count, 0);
  EXPECT_EQ(mask_tokens(zeros({2, 3}, kInt64), kSpecial, kSize, rng).count, 0);
  EXPECT_EQ(mask_tokens(zeros({0, 3}, kInt64), kSpecial, kSize, rng).count, 0);
}

TEST(MaskTokens, DependsOnTheGeneratorAlone) {
  const Tensor tokens = random_tokens({64, 128});
  const auto run = [&](const Tensor& given) {
    Rng rng(4);
    rng.next_u32();
    const MaskedTokens result = mask_tokens(given, kSpecial, kSize, rng);
    EXPECT_EQ(rng.state().position, 4u + 4 * 64 * 128);
    Ids all = result.ids.to_vector<index_t>();
    for (const index_t label : result.labels.to_vector<index_t>()) all.push_back(label);
    return all;
  };
  const Ids wanted = run(tokens);
  EXPECT_EQ(run(tokens.transpose(0, 1).clone().transpose(0, 1)), wanted);
  const int before = thread_count();
  for (const int count : {1, 2, 3, 8}) {
    set_thread_count(count);
    EXPECT_EQ(run(tokens), wanted) << count << " threads";
  }
  set_thread_count(before);
  Rng other(5);
  EXPECT_NE(mask_tokens(tokens, kSpecial, kSize, other).ids.to_vector<index_t>(),
            Ids(wanted.begin(), wanted.begin() + tokens.count()));
}

TEST(MaskTokens, RefusesWhatIsNoTokenOrNoChance) {
  Rng rng(1);
  const auto refuses = [&](const std::string& part, const Tensor& tokens, index_t size,
                           const MaskTokensOptions& options) {
    EXPECT_TRUE(test::throws("mask_tokens", {part},
                             [&] { mask_tokens(tokens, kSpecial, size, rng, options); }));
  };
  const Tensor tokens = tensor({{5, 6}});
  refuses("float32", tokens.to(kFloat32), kSize, {});
  refuses("ids must be at least 0 and below vocab_size 6, got 6", tokens, 6, {});
  refuses("-1", tensor({{-1}}), kSize, {});
  refuses("vocab_size must be above", tokens, kFirst, {});
  refuses("must be from 0 to 1, got", tokens, kSize, {.mlm_probability = 1.5});
  refuses("must be from 0 to 1, got", tokens, kSize,
          {.mask_replace_prob = 0.8, .random_replace_prob = 0.3});
  refuses("must be from 0 to 1, got", tokens, kSize, {.random_replace_prob = -0.1});
  refuses("must be from 0 to 1, got", tokens, kSize,
          {.mlm_probability = std::numeric_limits<double>::quiet_NaN()});
}

}  // namespace
}  // namespace tessera::text
