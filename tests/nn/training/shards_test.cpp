// Shards are summed by one tree, for any order of arrival.
#include "nn/training/shards.h"

#include <bit>
#include <type_traits>

#include "nn/training/communicator.h"
#include "tensor/ops/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

/// A value of each kind: shard 2 has no gradient.
Tensor gradient_of(index_t shard) {
  const auto seed = static_cast<std::uint64_t>(shard);
  return shard == 2 ? Tensor() : random_tensor({3, 7}, kFloat32, seed);
}

LossTotals totals_of_shard(index_t shard) {
  return {1.0 / static_cast<double>(3 + shard), 2, 1};
}

/// The definition: shards [begin, end), whose left part is the largest smaller power of two.
template <class T>
T naive(index_t begin, index_t end, T (*value_of)(index_t)) {
  if (end - begin == 1) return value_of(begin);
  const auto half =
      static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(end - begin - 1)));
  T left = naive(begin, begin + half, value_of);
  const T right = naive(begin + half, end, value_of);
  if constexpr (std::is_same_v<T, Tensor>) {
    if (!left.defined() || !right.defined()) return left.defined() ? left : right;
    return left + right;
  } else {
    left.loss += right.loss;
    left.count += right.count;
    left.correct += right.correct;
    return left;
  }
}

bool is_same(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() ? bool(same_bits(a, b)) : a.defined() == b.defined();
}

bool is_same(const LossTotals& a, const LossTotals& b) {
  return a.loss == b.loss && a.count == b.count && a.correct == b.correct;
}

/// Values of one kind, summed in any order of arrival, have the bits of the definition.
template <class T>
void expect_one_tree(T (*value_of)(index_t)) {
  Rng rng(1);
  for (index_t shards = 1; shards <= 13; ++shards) {
    const T want = naive(0, shards, value_of);
    for (int round = 0; round < 6; ++round) {
      std::vector<index_t> order(static_cast<std::size_t>(shards));
      std::iota(order.begin(), order.end(), 0);
      if (round == 1) std::reverse(order.begin(), order.end());
      if (round > 1) order = permutation(shards, rng).to_vector<index_t>();
      ShardTree<T> tree(shards);
      std::size_t most = 0;
      for (index_t shard : order) {
        tree.add(shard, value_of(shard));
        most = std::max(most, tree.parts().size());
      }
      EXPECT_EQ(tree.parts().size(), 1U);
      if (round == 0) {
        EXPECT_LE(most,
                  static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(shards))))
            << "logarithmic";
      }
      EXPECT_TRUE(is_same(std::move(tree).total(), want)) << shards;
    }
  }
}

TEST(ShardTree, SumsByOneTreeInWhateverOrderShardsCome) {
  expect_one_tree(gradient_of);
  expect_one_tree(totals_of_shard);
}

TEST(ShardTree, TheOrderOfTheTreeShows) {
  // Otherwise the test above would pass for any tree.
  Tensor in_a_row = gradient_of(0);
  for (index_t shard = 1; shard < 7; ++shard) add_to(in_a_row, gradient_of(shard));
  EXPECT_FALSE(same_bits(in_a_row, naive(0, 7, gradient_of)));
}

TEST(ShardTree, GradientsOfAShardHaveOneShape) {
  Tensor left = ones({3});
  EXPECT_TRUE(throws("add_in_place", {"(3,)", "got (2,)"}, [&] { add_to(left, ones({2})); }));
  ShardTree<Tensor> tree(2);
  tree.add(0, ones({3}));
  EXPECT_TRUE(throws("add_in_place", {"(3,)", "got (2,)"}, [&] { tree.add(1, ones({2})); }));
}

TEST(ShardTree, ContinuesWithTheSubtreesOfOthers) {
  for (index_t shards = 1; shards <= 13; ++shards) {
    for (index_t parts = 1; parts <= shards; ++parts) {
      ShardTree<Tensor> whole(shards);
      for (index_t part = parts; part-- > 0;) {
        const Share own = share_of(shards, part, parts);
        ShardTree<Tensor> tree(shards);
        for (index_t i = own.begin; i < own.end; ++i) tree.add(i, gradient_of(i));
        for (const auto& [node, sum] : tree.parts()) whole.add(node, sum);
      }
      EXPECT_TRUE(is_same(std::move(whole).total(), naive(0, shards, gradient_of)))
          << shards << " shards in " << parts << " parts";
    }
  }
  ShardTree<Tensor> tree(7);
  std::vector<ShardNode> nodes;
  for (index_t shard = 1; shard < 7; ++shard) tree.add(shard, gradient_of(shard));
  for (const auto& part : tree.parts()) nodes.push_back(part.node);
  EXPECT_EQ(nodes, (std::vector<ShardNode>{{0, 1}, {1, 1}, {2, 1}})) << "1, 2 + 3, (4 + 5) + 6";
}

TEST(ShardTree, RefusesWhatIsNoBatch) {
  EXPECT_TRUE(throws("ShardTree", {"got 0"}, [] { ShardTree<LossTotals>(0); }));
  for (index_t again : {0, 1, 2, 4}) {
    ShardTree<LossTotals> tree(5);
    for (index_t shard : {0, 1, 2, 4}) tree.add(shard, totals_of_shard(shard));
    EXPECT_TRUE(throws("ShardTree", {"added once", std::to_string(again)},
                       [&] { tree.add(again, totals_of_shard(again)); }));
    EXPECT_TRUE(throws("ShardTree", {"added once"}, [&] {
      tree.add(ShardNode{1, again / 2}, totals_of_shard(again));
    }));
    EXPECT_TRUE(throws("ShardTree", {"all 5", "missing"}, [&] { (void)std::move(tree).total(); }));
  }
  ShardTree<LossTotals> tree(2);
  EXPECT_TRUE(throws("ShardTree", {"the 2 shards", "got node 2 of level 0"},
                     [&] { tree.add(2, totals_of_shard(2)); }));
  EXPECT_TRUE(throws("ShardTree", {"the 2 shards", "got node -1 of level 0"},
                     [&] { tree.add(-1, totals_of_shard(2)); }));
  EXPECT_TRUE(throws("ShardTree", {"the 2 shards", "got node 1 of level 1"}, [&] {
    tree.add(ShardNode{1, 1}, totals_of_shard(2));
  }));
}

TEST(ShardOf, RefusesAShardThatDoesNotExist) {
  const std::vector<index_t> batch(10);
  for (const index_t shard : {-1, 3}) {
    EXPECT_TRUE(throws("shard_of", {"shard must be from 0 to 2", str_cat("got ", shard)},
                       [&] { shard_of(batch, 3, shard); }));
  }
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
