// The sums of a batch, on one process or on several. Private to the trainer.
//
// Each of P processes computes a contiguous range of a batch's shards and adds them to complete
// subtrees of the shards' tree (shards.h). For each gradient, process r then gets the r-th part of
// all subtrees, adds the subtrees in the order of the tree, and sends the sum to all. So for any
// number of processes, the same values are added in the same order. If the shards of a process make
// one subtree, it sends 2 (P - 1) / P times the bytes of all gradients in each step.
#pragma once

#include "tessera/nn/training/communicator.h"
#include "tessera/nn/training/parameters.h"
#include "tessera/nn/training/shards.h"

namespace tessera::nn {

/// The sums of a batch of `shards` shards, the same on all processes, each of which has added the
/// shards of share_of(shards, communicator) to its tree. All processes must call it with the same
/// variables.
/// **Errors**: a process has sent texts of unexpected sizes, because it has made a different call.
ShardSums all_reduce(Communicator& communicator, const Parameters& variables, index_t shards,
                     ShardTree mine);

}  // namespace tessera::nn
