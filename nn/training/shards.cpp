#include "tessera/nn/training/shards.h"

#include <utility>

#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"

namespace tessera::nn {

namespace {

// Streams of a run's seed: small numbers are epochs (batch_sampler.h).
constexpr std::uint64_t kShards = std::uint64_t{1} << 63;
constexpr std::uint64_t kEvaluations = std::uint64_t{1} << 62;

/// The level of the root of the largest tree.
constexpr index_t kMostLevels = 20;
static_assert(index_t{1} << kMostLevels == kMostShards);

}  // namespace

void add_to(Tensor& left, const Tensor& right) {
  if (!right.defined()) return;
  if (left.defined()) {
    add_in_place(left, right);
  } else {
    left = right;
  }
}

void ShardSums::add(const ShardSums& later) {
  require(later.gradients.size() == gradients.size(), "ShardSums", "gradients must be ",
          gradients.size(), ", as in the first shard, got ", later.gradients.size());
  totals.add(later.totals);
  for (std::size_t i = 0; i < gradients.size(); ++i) add_to(gradients[i], later.gradients[i]);
}

// ---- the tree ----

ShardTree::ShardTree(index_t shards) : shards_(shards) {
  require(shards >= 1 && shards <= kMostShards, "ShardTree", "shards must be from 1 to ",
          kMostShards, ", got ", shards);
}

void ShardTree::add(ShardNode node, ShardSums sums) {
  const bool is_there = node.level >= 0 && node.level <= kMostLevels && node.index >= 0 &&
                        node.index < shards_ && node.first_shard() < shards_;
  require(is_there, "ShardTree", "nodes must cover some of the ", shards_, " shards, got node ",
          node.index, " of level ", node.level);
  require(node.first_shard() >= end_, "ShardTree", "shards must come in order, each once, got ",
          node.first_shard(), " after ", end_ - 1);
  end_ = (node.index + 1) << node.level;
  while (index_t{1} << node.level < shards_) {
    const ShardNode neighbour = {node.level, node.index ^ 1};
    const bool is_left = neighbour.index > node.index;
    if (is_left && neighbour.first_shard() < shards_) break;  // the right half comes later
    if (!is_left) {
      const bool has_left = !parts_.empty() && parts_.back().node == neighbour;
      if (!has_left) break;  // another tree has the left half
      ShardSums left = std::move(parts_.back().sums);
      parts_.pop_back();
      left.add(sums);
      sums = std::move(left);
    }
    node = {node.level + 1, node.index / 2};
  }
  parts_.push_back({node, std::move(sums)});
}

ShardSums ShardTree::total() && {
  const bool is_complete = parts_.size() == 1 && index_t{1} << parts_.front().node.level >= shards_;
  require(is_complete, "ShardTree", "all ", shards_,
          " shards must be added first, some are missing");
  return std::move(parts_.front().sums);
}

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
