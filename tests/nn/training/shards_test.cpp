// Shards are summed by one tree, whoever comes first.
#include "nn/training/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops/ops.h"
#include "tests/support/errors.h"
#include "tests/support/oracle.h"

namespace tessera::nn {
namespace {

using test::random_tensor;
using test::same_bits;
using test::throws;

/// Sums whose order shows in their last bits. Shard 2 has no second gradient, and none has a third.
ShardSums sums_of(index_t shard) {
  const auto seed = static_cast<std::uint64_t>(shard);
  Tensor second = shard == 2 ? Tensor() : random_tensor({5}, kFloat64, 100 + seed);
  return {.totals = {1.0 / static_cast<double>(3 + shard), 2, 1},
          .gradients = {random_tensor({3, 7}, kFloat32, seed), second, Tensor()}};
}

/// The definition: shards [begin, end), whose left part is the greatest power of two below.
ShardSums naive(index_t begin, index_t end) {
  if (end - begin == 1) return sums_of(begin);
  const auto half =
      static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(end - begin - 1)));
  ShardSums left = naive(begin, begin + half);
  const ShardSums right = naive(begin + half, end);
  left.totals.loss += right.totals.loss;
  left.totals.count += right.totals.count;
  left.totals.correct += right.totals.correct;
  for (std::size_t i = 0; i < left.gradients.size(); ++i) {
    Tensor& a = left.gradients[i];
    const Tensor& b = right.gradients[i];
    if (a.defined() && b.defined()) {
      a = a + b;
    } else if (b.defined()) {
      a = b;
    }
  }
  return left;
}

void expect_same(const ShardSums& got, const ShardSums& want, const std::string& where) {
  EXPECT_EQ(got.totals.loss, want.totals.loss) << where;
  EXPECT_EQ(got.totals.count, want.totals.count) << where;
  EXPECT_EQ(got.totals.correct, want.totals.correct) << where;
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (std::size_t i = 0; i < got.gradients.size(); ++i) {
    ASSERT_EQ(got.gradients[i].defined(), want.gradients[i].defined()) << where;
    if (got.gradients[i].defined()) {
      EXPECT_TRUE(same_bits(got.gradients[i], want.gradients[i])) << where;
    }
  }
}

TEST(ShardTree, SumsByOneTreeInWhateverOrderShardsCome) {
  Rng rng(1);
  for (index_t shards = 1; shards <= 13; ++shards) {
    const ShardSums want = naive(0, shards);
    for (int round = 0; round < 6; ++round) {
      std::vector<index_t> order(static_cast<std::size_t>(shards));
      std::iota(order.begin(), order.end(), 0);
      if (round == 1) std::reverse(order.begin(), order.end());
      if (round > 1) order = permutation(shards, rng).to_vector<index_t>();
      ShardTree tree(shards);
      index_t most = 0;
      for (index_t shard : order) {
        tree.add(shard, sums_of(shard));
        most = std::max(most, tree.waiting());
      }
      EXPECT_EQ(tree.waiting(), 1);
      if (round == 0) {
        EXPECT_LE(most, std::bit_width(static_cast<std::uint64_t>(shards))) << "logarithmic";
      }
      expect_same(std::move(tree).total(), want, std::to_string(shards));
    }
  }
}

TEST(ShardTree, TheOrderOfTheTreeShows) {
  // Else the test above would pass whatever the tree.
  ShardSums in_a_row = sums_of(0);
  for (index_t shard = 1; shard < 7; ++shard) in_a_row.add(sums_of(shard));
  EXPECT_FALSE(same_bits(in_a_row.gradients[0], naive(0, 7).gradients[0]));
}

TEST(ShardTree, RefusesWhatIsNoBatch) {
  EXPECT_TRUE(throws("ShardTree", {"0 shards"}, [] { ShardTree(0); }));
  for (index_t again : {0, 1, 2, 4}) {
    ShardTree tree(5);
    for (index_t shard : {0, 1, 2, 4}) tree.add(shard, sums_of(shard));
    EXPECT_TRUE(throws("ShardTree", {"there before", std::to_string(again)},
                       [&] { tree.add(again, sums_of(again)); }));
    EXPECT_TRUE(throws("ShardTree", {"4 of 5"}, [&] { (void)std::move(tree).total(); }));
  }
  ShardTree tree(2);
  EXPECT_TRUE(throws("ShardTree", {"shard 2 of 2"}, [&] { tree.add(2, sums_of(2)); }));
  EXPECT_TRUE(throws("ShardTree", {"shard -1 of 2"}, [&] { tree.add(-1, sums_of(2)); }));
}

TEST(ShardOf, CutsABatchIntoStretches) {
  std::vector<index_t> batch(10);
  std::iota(batch.begin(), batch.end(), 0);
  for (const std::size_t size : {0U, 1U, 3U, 10U}) {
    for (index_t shards : {1, 2, 3, 4, 7, 16}) {
      std::vector<index_t> together;
      for (index_t shard = 0; shard < shards; ++shard) {
        const auto part = shard_of(std::span(batch).first(size), shards, shard);
        together.insert(together.end(), part.begin(), part.end());
        const auto fair = static_cast<index_t>(size) / shards;
        EXPECT_TRUE(std::ssize(part) == fair || std::ssize(part) == fair + 1);
      }
      EXPECT_EQ(together,
                std::vector<index_t>(batch.begin(), batch.begin() + std::ssize(together)));
      EXPECT_EQ(together.size(), size);
    }
  }
}

TEST(ShardRng, GivesEachShardItsOwnStream) {
  std::set<std::uint64_t> words;
  for (std::uint64_t seed : {0U, 1U}) {
    for (index_t step = 0; step < 3; ++step) {
      for (index_t shard : {index_t{0}, index_t{1}, kMostShards - 1}) {
        Rng rng = shard_rng(seed, step, shard);
        words.insert(rng.next_u64());
        Rng again = shard_rng(seed, step, shard);
        EXPECT_TRUE(words.contains(again.next_u64()));
      }
    }
    words.insert(Rng(seed, 0).next_u64());  // of an epoch
    words.insert(evaluation_rng(seed, 0).next_u64());
    words.insert(evaluation_rng(seed, 1).next_u64());
  }
  EXPECT_EQ(words.size(), 2U * (9U + 3U));
}

TEST(RngScope, LeavesTheGeneratorAsItWas) {
  manual_seed(4);
  const Rng::State before = default_rng().state();
  {
    const RngScope scope(Rng(9, 1));
    EXPECT_EQ(default_rng().state(), (Rng::State{9, 1, 0}));
    (void)rand({3});
  }
  EXPECT_EQ(default_rng().state(), before);
}

}  // namespace
}  // namespace tessera::nn
