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

}  // namespace

void ShardSums::add(const ShardSums& right) {
  totals.add(right.totals);
  if (gradients.empty()) gradients.resize(right.gradients.size());
  for (std::size_t i = 0; i < right.gradients.size(); ++i) {
    if (!right.gradients[i].defined()) continue;
    if (gradients[i].defined()) {
      add_in_place(gradients[i], right.gradients[i]);
    } else {
      gradients[i] = right.gradients[i];
    }
  }
}

// ---- the tree ----

ShardTree::ShardTree(index_t shards) : shards_(shards) {
  require(shards >= 1 && shards <= kMostShards, "ShardTree", shards, " shards, not 1 to ",
          kMostShards);
}

void ShardTree::add(index_t shard, ShardSums sums) {
  require(shard >= 0 && shard < shards_, "ShardTree", "shard ", shard, " of ", shards_);
  Node node{0, shard, std::move(sums)};
  while ((index_t{1} << node.level) < shards_) {
    const index_t neighbour = node.index ^ 1;
    const bool has_neighbour = (neighbour << node.level) < shards_;
    if (has_neighbour) {
      const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& other) {
        return other.level == node.level && other.index == neighbour;
      });
      if (found == nodes_.end()) break;
      if (neighbour < node.index) std::swap(found->sums, node.sums);
      node.sums.add(found->sums);
      nodes_.erase(found);
    }
    ++node.level;
    node.index /= 2;
  }
  const auto covers = [&](const Node& other) {
    return other.index >> std::max<index_t>(0, node.level - other.level) ==
           node.index >> std::max<index_t>(0, other.level - node.level);
  };
  require(std::none_of(nodes_.begin(), nodes_.end(), covers), "ShardTree", "shard ", shard,
          " was there before");
  ++added_;
  nodes_.push_back(std::move(node));
}

ShardSums ShardTree::total() && {
  require(added_ == shards_, "ShardTree", added_, " of ", shards_, " shards are there");
  return std::move(nodes_.front().sums);
}

// ---- what belongs to a shard ----

std::span<const index_t> shard_of(std::span<const index_t> batch, index_t shards, index_t shard) {
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
