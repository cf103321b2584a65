#include "nn/training/shards.h"

#include <algorithm>
#include <utility>

#include "tensor/error.h"
#include "tensor/gradient.h"

namespace tessera::nn {

namespace {

// Streams of a run's seed: small numbers are epochs (batch_sampler.h).
constexpr std::uint64_t kShards = std::uint64_t{1} << 63;
constexpr std::uint64_t kEvaluations = std::uint64_t{1} << 62;

/// The level of the root of the largest tree.
constexpr index_t kMostLevels = 20;
static_assert(index_t{1} << kMostLevels == kMostShards);

}  // namespace

void add_to(LossTotals& left, const LossTotals& right) {
  left.add(right);
}

void add_to(Tensor& left, const Tensor& right) {
  if (!right.defined()) return;
  if (left.defined()) {
    add_in_place(left, right);
  } else {
    left = right;
  }
}

// ---- the tree ----

template <class T>
ShardTree<T>::ShardTree(index_t shards) : shards_(shards) {
  require(shards >= 1 && shards <= kMostShards, "ShardTree", "shards must be from 1 to ",
          kMostShards, ", got ", shards);
}

/// The other half of the node's parent, if it has shards.
template <class T>
std::optional<ShardNode> ShardTree<T>::neighbour_of(ShardNode node) const {
  const ShardNode neighbour = {node.level, node.index ^ 1};
  if (neighbour.first_shard() >= shards_) return {};
  return neighbour;
}

template <class T>
void ShardTree<T>::check(ShardNode node) const {
  const bool is_there = node.level >= 0 && node.level <= kMostLevels && node.index >= 0 &&
                        node.index < shards_ && node.first_shard() < shards_;
  require(is_there, "ShardTree", "nodes must cover some of the ", shards_, " shards, got node ",
          node.index, " of level ", node.level);
  for (const Part& part : parts_) {
    const index_t level = std::max(part.node.level, node.level);
    const bool overlaps = part.node.first_shard() >> level == node.first_shard() >> level;
    require(!overlaps, "ShardTree", "each shard must be added once, got shard ", node.first_shard(),
            " again");
  }
}

template <class T>
void ShardTree<T>::add(ShardNode node, T sum) {
  check(node);
  while ((index_t{1} << node.level) < shards_) {
    if (const std::optional<ShardNode> neighbour = neighbour_of(node)) {
      const auto found = std::find_if(parts_.begin(), parts_.end(),
                                      [&](const Part& part) { return part.node == *neighbour; });
      if (found == parts_.end()) break;
      if (neighbour->index < node.index) std::swap(found->sum, sum);
      add_to(sum, found->sum);
      parts_.erase(found);
    }
    node = {node.level + 1, node.index / 2};
  }
  const auto after = std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) {
    return part.node.first_shard() > node.first_shard();
  });
  parts_.insert(after, Part{node, std::move(sum)});
}

template <class T>
T ShardTree<T>::total() && {
  const bool is_complete = parts_.size() == 1 && index_t{1} << parts_.front().node.level >= shards_;
  require(is_complete, "ShardTree", "all ", shards_,
          " shards must be added first, some are missing");
  return std::move(parts_.front().sum);
}

template class ShardTree<LossTotals>;
template class ShardTree<Tensor>;

// ---- examples and random numbers of a shard ----

std::span<const index_t> shard_of(std::span<const index_t> batch, index_t shards, index_t shard) {
  require(0 <= shard && shard < shards, "shard_of", "shard must be from 0 to ", shards - 1,
          ", got ", shard);
  const index_t begin = std::ssize(batch) * shard / shards;
  const index_t end = std::ssize(batch) * (shard + 1) / shards;
  return batch.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

Rng shard_rng(std::uint64_t seed, index_t step, index_t shard) {
  const auto place = static_cast<std::uint64_t>(step * kMostShards + shard);
  return Rng(seed, kShards | place);
}

Rng evaluation_rng(std::uint64_t seed, index_t batch) {
  return Rng(seed, kEvaluations | static_cast<std::uint64_t>(batch));
}

}  // namespace tessera::nn
