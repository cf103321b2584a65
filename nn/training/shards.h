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
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "nn/training/loss_sum.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// left += right, of losses; and of gradients, where an undefined tensor is none: then the other one
/// is the sum, with its own bits. The sum of two tensors is written into the memory of the left one.
void add_to(LossTotals& left, const LossTotals& right);
void add_to(Tensor& left, const Tensor& right);

/// A node of the tree: covers the shards from index 2^level to (index + 1) 2^level, as far as there
/// are any, and is the sum of its left and its right half, or its left half where the right one has
/// no shards.
struct ShardNode {
  index_t level, index;

  /// The first of the shards that the node covers.
  index_t first_shard() const { return index << level; }
  bool operator==(const ShardNode&) const = default;
};

/// Sums a value of each of the shards 0, ..., S - 1 of a batch, which come in any order, by one tree.
/// Subtrees are added as soon as they are complete: shards that come in order need memory for at most
/// log2 S + 1 values.
/// **Errors**: no shards; a shard or node that is none of them or was there before.
template <class T>
class ShardTree {
 public:
  /// The sum of the shards of a node.
  struct Part {
    ShardNode node;
    T sum;
  };

  explicit ShardTree(index_t shards);

  /// Adds the value of one shard.
  void add(index_t shard, T value) { add(ShardNode{0, shard}, std::move(value)); }
  /// The sum of all shards of a node, as another tree has made it.
  void add(ShardNode node, T sum);
  /// The complete subtrees that wait for their neighbours, in the order of their shards.
  std::span<const Part> parts() const { return parts_; }
  /// The sum of all shards. **Errors**: some are missing.
  T total() &&;

 private:
  std::optional<ShardNode> neighbour_of(ShardNode node) const;
  void check(ShardNode node) const;

  index_t shards_;
  std::vector<Part> parts_;
};

/// The subtrees that the shards [begin, end) of `shards` make.
std::vector<ShardNode> nodes_of(index_t shards, index_t begin, index_t end);

/// The examples of one shard: the batch cut into `shards` stretches whose lengths differ by at most
/// one. With more shards than examples some are empty. **Errors**: no such shard.
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
