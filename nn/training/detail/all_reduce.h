// The sums of a batch, on one process or on several. Private to the trainer.
//
// Each of P processes computes a contiguous range of a batch's shards and adds them to complete
// subtrees of the shards' tree (shards.h). For each gradient, process r then gets the r-th part of
// all subtrees, adds the subtrees in the order of the tree, and sends the sum to all. So for any
// number of processes, the same values are added in the same order. If the shards of a process make
// one subtree, it sends 2 (P - 1) / P times the bytes of all gradients in each step.
#pragma once

#include <vector>

#include "nn/training/communicator.h"
#include "nn/training/parameters.h"
#include "nn/training/shards.h"

namespace tessera::nn {

/// The sums of some shards of a batch: of their losses, and of the gradient of each variable.
struct ShardSums {
  ShardTree<LossTotals> totals;
  std::vector<ShardTree<Tensor>> gradients;

  ShardSums(index_t shards, std::size_t variables)
      : totals(shards), gradients(variables, ShardTree<Tensor>(shards)) {}
};

/// The sums of all shards of a batch. A gradient is undefined if no shard has one.
struct BatchSums {
  LossTotals totals;
  std::vector<Tensor> gradients;
};

/// The sums of a batch whose shards are all in `mine`. **Errors**: some are missing.
BatchSums total_of(ShardSums mine);

/// The sums of a batch of `shards` shards, the same on all processes, each of which has added the
/// shards of share_of(shards, communicator). All processes must call it with the same variables.
/// **Errors**: a process has sent texts of unexpected sizes, because it has made a different call.
BatchSums all_reduce(Communicator& communicator, const Parameters& variables, index_t shards,
                     ShardSums mine);

}  // namespace tessera::nn
