// A batch in a fixed number of shards, and the one tree by which their sums become that of the
// batch.
//
// Rounded sums depend on the order of their terms. So losses and gradients of a batch are sums over
// shards, added by one binary tree, that of S = 5 shards being ((0 + 1) + (2 + 3)) + 4, and divided
// by the number of targets of the whole batch at the end. Who computes which shard, and when, then
// changes no bit: one process that computes one shard after another, which is gradient
// accumulation, or several processes that compute some each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/training/loss_sum.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// The sums over some shards: of losses and, for each parameter, of gradients.
struct ShardSums {
  LossTotals totals;
  std::vector<Tensor> gradients;  // undefined where no shard has one

  /// Adds those of the shards that follow.
  void add(const ShardSums& right);
};

/// Sums the shards 0, ..., S - 1 of a batch, which come in any order, by one tree: node (level, i)
/// covers the shards from i 2^level to (i + 1) 2^level, is the sum of its left and its right half,
/// and is its left half where the right one has no shards. Subtrees are added as soon as they are
/// complete: shards that come in order need memory for at most log2 S + 1 sums.
/// **Errors**: no shards; a shard that is none of them or was there before.
class ShardTree {
 public:
  explicit ShardTree(index_t shards);

  void add(index_t shard, ShardSums sums);
  /// The number of complete subtrees that wait for their neighbours.
  index_t waiting() const { return static_cast<index_t>(nodes_.size()); }
  /// The sum of all shards. **Errors**: some are missing.
  ShardSums total() &&;

 private:
  struct Node {
    index_t level, index;
    ShardSums sums;
  };

  index_t shards_;
  index_t added_ = 0;
  std::vector<Node> nodes_;
};

/// The examples of one shard: the batch cut into `shards` stretches whose lengths differ by at most
/// one. Where there are more shards than examples some are empty.
std::span<const index_t> shard_of(std::span<const index_t> batch, index_t shards, index_t shard);

inline constexpr index_t kMostShards = index_t{1} << 20;
inline constexpr index_t kMostSteps = index_t{1} << 42;  // so that each shard of each has a stream

/// The random numbers of a shard at a step: a stream of its own, whoever computes it.
Rng shard_rng(std::uint64_t seed, index_t step, index_t shard);
/// Those of a batch of an evaluation, the same in each evaluation.
Rng evaluation_rng(std::uint64_t seed, index_t batch);

/// While one is in scope, default_rng() is this generator; then it is what it was before.
class RngScope {
 public:
  explicit RngScope(const Rng& rng) : before_(default_rng().state()) {
    default_rng().set_state(rng.state());
  }
  ~RngScope() { default_rng().set_state(before_); }
  RngScope(const RngScope&) = delete;
  RngScope& operator=(const RngScope&) = delete;

 private:
  Rng::State before_;
};

}  // namespace tessera::nn
