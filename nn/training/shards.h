// A batch is divided into a fixed number of shards, and one tree adds up the sums of the shards.
//
// Rounded sums depend on the order of their terms. So the losses and gradients of the shards are
// always added by the same binary tree: for S = 5 shards, ((0 + 1) + (2 + 3)) + 4. At the end the
// sums are divided by the number of targets of the whole batch. So the bits do not depend on which
// process computes a shard, or when. One process may compute the shards one after the other, which
// is gradient accumulation, or several processes may each compute some of the shards.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/nn/training/loss_sum.h"
#include "tessera/tensor/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// left += right. If one gradient is undefined, the sum has the bits of the other gradient. The sum
/// of two tensors is written into the memory of the left one.
/// **Errors**: different shapes; dtypes that differ or are not floating.
void add_to(Tensor& left, const Tensor& right);

/// The sums of some shards: of their losses, and of the gradient of each variable. A gradient is
/// undefined if no shard has one.
struct ShardSums {
  LossTotals totals;
  std::vector<Tensor> gradients;

  /// Adds the sums of later shards, as add_to. **Errors**: as add_to; different numbers of
  /// gradients.
  void add(const ShardSums& later);
};

/// A node of the tree: it covers the existing shards of [index * 2^level, (index + 1) * 2^level).
/// The sum of a node is the sum of the left half plus the sum of the right half, or only the
/// sum of the left half if the right half has no shards.
struct ShardNode {
  index_t level, index;

  /// The first of the shards that the node covers.
  index_t first_shard() const { return index << level; }
  bool operator==(const ShardNode&) const = default;
};

/// Adds up the sums of the shards 0, ..., S - 1 of a batch by one tree. Shards must come in order;
/// a tree may omit some, which other trees add. Two halves of a node are added as soon as both are
/// complete, so at most log2(S) + 1 sums are in memory.
/// **Errors**: no shards, or more than kMostShards; a shard or node that does not exist, or that
/// comes before the end of the last one; as ShardSums::add.
class ShardTree {
 public:
  /// The sums of the shards of a node.
  struct Part {
    ShardNode node;
    ShardSums sums;
  };

  explicit ShardTree(index_t shards);

  /// Adds the sums of one shard. **Errors**: as the class.
  void add(index_t shard, ShardSums sums) { add(ShardNode{0, shard}, std::move(sums)); }
  /// Adds the sums of all shards of a node, which another tree has computed. **Errors**: as the
  /// class.
  void add(ShardNode node, ShardSums sums);
  /// The complete subtrees that wait for their neighbours, in the order of their shards.
  std::span<const Part> parts() const { return parts_; }
  /// The sums of all shards. **Errors**: some are missing.
  ShardSums total() &&;

 private:
  index_t shards_;
  index_t end_ = 0;  // of the last node's shards
  std::vector<Part> parts_;
};

/// The examples of one shard: the batch is divided into `shards` ranges whose lengths differ by at
/// most one. If there are more shards than examples, some are empty. **Errors**: no such shard.
std::span<const index_t> shard_of(std::span<const index_t> batch, index_t shards, index_t shard);

inline constexpr index_t kMostShards = index_t{1} << 20;
inline constexpr index_t kMostSteps = index_t{1} << 42;  // one random stream per shard of each step

/// The random numbers of a shard at a step: the same stream in any process.
Rng shard_rng(std::uint64_t seed, index_t step, index_t shard);
/// The random numbers of a batch of an evaluation, the same in each evaluation.
Rng evaluation_rng(std::uint64_t seed, index_t batch);

}  // namespace tessera::nn
