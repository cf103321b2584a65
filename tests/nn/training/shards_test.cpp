// Shards are summed by one tree, in one process or in several.
#include "tessera/nn/training/shards.h"

#include <bit>

#include "tessera/nn/training/communicator.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

/// Two gradients: shard 2 does not have the first, and only shard 4 has the second.
ShardSums sums_of(index_t shard) {
  const auto seed = static_cast<std::uint64_t>(shard);
  const Tensor gradient = random_tensor({3, 7}, kFloat32, seed);
  return {.totals = {1.0 / static_cast<double>(3 + shard), 2, 1},
          .gradients = {shard == 2 ? Tensor() : gradient, shard == 4 ? ones({2}) : Tensor()}};
}

/// The definition: shards [begin, end), whose left part is the largest smaller power of two.
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
    Tensor& to = left.gradients[i];
    const Tensor& from = right.gradients[i];
    to = to.defined() && from.defined() ? to + from : to.defined() ? to : from;
  }
  return left;
}

bool is_same(const ShardSums& a, const ShardSums& b) {
  const bool same_totals = a.totals.loss == b.totals.loss && a.totals.count == b.totals.count &&
                           a.totals.correct == b.totals.correct;
  return same_totals && std::ranges::equal(a.gradients, b.gradients, [](auto& x, auto& y) {
           return x.defined() && y.defined() ? bool(same_bits(x, y)) : x.defined() == y.defined();
         });
}

TEST(ShardTree, SumsByOneTree) {
  for (index_t shards = 1; shards <= 13; ++shards) {
    ShardTree tree(shards);
    std::size_t most = 0;
    for (index_t shard = 0; shard < shards; ++shard) {
      tree.add(shard, sums_of(shard));
      most = std::max(most, tree.parts().size());
    }
    EXPECT_EQ(tree.parts().size(), 1U);
    EXPECT_LE(most, static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(shards))))
        << "logarithmic";
    EXPECT_TRUE(is_same(std::move(tree).total(), naive(0, shards))) << shards;
  }
}

TEST(ShardTree, TheOrderOfTheTreeShows) {
  // Otherwise the test above would pass for any tree.
  ShardSums in_a_row = sums_of(0);
  for (index_t shard = 1; shard < 7; ++shard) in_a_row.add(sums_of(shard));
  EXPECT_FALSE(same_bits(in_a_row.gradients[0], naive(0, 7).gradients[0]));
}

TEST(AddTo, ReadsAViewBeforeItIsOverwritten) {
  Tensor numbers = arange(1000, kFloat32);
  add_to(numbers, numbers.slice(0, {}, {}, -1));
  EXPECT_TRUE(same_bits(numbers, full({1000}, 999)));
}

TEST(ShardTree, GradientsOfAShardHaveOneShape) {
  Tensor left = ones({3});
  EXPECT_TRUE(throws("add_in_place", {"(3,)", "got (2,)"}, [&] { add_to(left, ones({2})); }));
  EXPECT_TRUE(
      throws("add_in_place", {"same floating dtype"}, [&] { add_to(left, ones({3}, kFloat64)); }));
  ShardTree tree(2);
  tree.add(0, {{}, {ones({3})}});
  EXPECT_TRUE(throws("add_in_place", {"(3,)", "got (2,)"}, [&] {
    tree.add(1, {{}, {ones({2})}});
  }));
  ShardTree other(2);
  other.add(0, {{}, {ones({3})}});
  EXPECT_TRUE(throws("ShardSums", {"gradients must be 1", "got 2"}, [&] {
    other.add(1, {{}, {ones({3}), ones({3})}});
  }));
}

TEST(ShardTree, ContinuesWithTheSubtreesOfOthers) {
  for (index_t shards = 1; shards <= 13; ++shards) {
    for (index_t parts = 1; parts <= shards; ++parts) {
      ShardTree whole(shards);
      for (index_t part = 0; part < parts; ++part) {
        const Share own = share_of(shards, part, parts);
        ShardTree tree(shards);
        for (index_t i = own.begin; i < own.end; ++i) tree.add(i, sums_of(i));
        for (const auto& [node, sums] : tree.parts()) whole.add(node, sums);
      }
      EXPECT_TRUE(is_same(std::move(whole).total(), naive(0, shards)))
          << shards << " shards in " << parts << " parts";
    }
  }
  ShardTree tree(7);
  std::vector<ShardNode> nodes;
  for (index_t shard = 1; shard < 7; ++shard) tree.add(shard, sums_of(shard));
  for (const auto& part : tree.parts()) nodes.push_back(part.node);
  EXPECT_EQ(nodes, (std::vector<ShardNode>{{0, 1}, {1, 1}, {2, 1}})) << "1, 2 + 3, (4 + 5) + 6";
}

TEST(ShardTree, RefusesWhatIsNoBatch) {
  EXPECT_TRUE(throws("ShardTree", {"got 0"}, [] { ShardTree(0); }));
  ShardTree tree(5);
  for (index_t shard : {0, 1, 3}) tree.add(shard, sums_of(shard));
  for (index_t again : {0, 1, 2, 3}) {
    EXPECT_TRUE(throws("ShardTree", {"in order, each once", str_cat("got ", again, " after 3")},
                       [&] { tree.add(again, sums_of(again)); }));
  }
  EXPECT_TRUE(throws("ShardTree", {"in order, each once", "got 2 after 3"}, [&] {
    tree.add(ShardNode{1, 1}, sums_of(2));
  }));
  tree.add(4, sums_of(4));
  EXPECT_TRUE(throws("ShardTree", {"in order, each once", "got 4 after 4"},
                     [&] { tree.add(4, sums_of(4)); }));
  EXPECT_TRUE(throws("ShardTree", {"all 5", "missing"}, [&] { (void)std::move(tree).total(); }));
  ShardTree two(2);
  EXPECT_TRUE(throws("ShardTree", {"the 2 shards", "got node 2 of level 0"},
                     [&] { two.add(2, sums_of(2)); }));
  EXPECT_TRUE(throws("ShardTree", {"the 2 shards", "got node -1 of level 0"},
                     [&] { two.add(-1, sums_of(2)); }));
  EXPECT_TRUE(throws("ShardTree", {"the 2 shards", "got node 1 of level 1"}, [&] {
    two.add(ShardNode{1, 1}, sums_of(2));
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
