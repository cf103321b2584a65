// How processes that train together exchange a step: gradients to the owners of their chunks, new
// weights back. Private to the trainer.
//
// A process computes some of a batch's shards and adds them to complete subtrees of the shards' tree
// (shards.h). Of each subtree it sends each chunk (chunks.h) to the process that owns it, as soon as
// the backward of its last shard has finished the chunk's parameter. The owner finishes the tree. So
// whatever the number of processes, the same values are added in the same order.
//
// Of P processes, process p owns N_p of the N elements that have a gradient, and its shards make n_p
// subtrees. In a step it sends
//
//     n_p (N - N_p)  elements of gradients    and    (P - 1) N_p  elements of new weights,
//
// 2 N (P - 1) / P where there are P shards, or a power of two of them and of processes; beside them go
// three short all_gathers: of losses and of what failed, of the norm's parts, of who asks to stop.
//
// **Source**: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models" (2020), section 5, for owners of parts of the optimiser's state.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/training/chunks.h"
#include "nn/training/communicator.h"
#include "nn/training/loss_sum.h"
#include "nn/training/parameters.h"
#include "nn/training/shards.h"

namespace tessera::nn {

/// The sums of a batch: of its losses, and of gradients by the variables' order, undefined where no
/// shard has one. Where processes share a step, each has only the elements of its own chunks.
struct BatchSums {
  LossTotals totals;
  std::vector<Tensor> gradients;
};

/// The trees of one batch, as far as this process has computed its shards.
struct BatchTrees {
  ShardTree<LossTotals> totals;
  std::vector<ShardTree<Tensor>> gradients;  // one of each variable

  BatchTrees(index_t shards, std::size_t variables)
      : totals(shards), gradients(variables, ShardTree<Tensor>(shards)) {}
};

/// The sums of a batch of which this process has computed all shards.
BatchSums sums_of(BatchTrees trees);

/// The exchange of a step among several processes; the next step uses it again.
///
///     exchange.begin();
///     ... exchange.send(i, trees.gradients[i].parts()) for each variable, in any order
///     BatchSums sums = exchange.finish(std::move(trees), error);
///     ... the owners move their chunks
///     exchange.share_weights();
class Exchange {
 public:
  /// `chunks` count the `variables` from 0. Both and `processes` must outlive it.
  Exchange(Communicator& processes, const Parameters& variables, std::span<const Chunk> chunks,
           index_t shards);

  /// Begins to receive what the other processes will send.
  void begin();
  /// Sends the chunks of a variable to their owners: of each of this process's subtrees, once all of
  /// its shards are added. No parts, or undefined sums, go as zeros, which nobody will add.
  void send(std::size_t variable, std::span<const ShardTree<Tensor>::Part> parts);
  /// Sends what has not been sent, waits for the others, and finishes the trees. `error` is why this
  /// process could not compute its shards, or empty.
  /// **Errors**: std::runtime_error with the first error of any process, the same at all.
  BatchSums finish(BatchTrees trees, const std::string& error);
  /// Sends the new weights of the own chunks to all, and takes theirs; of the variables that had a
  /// gradient in the step.
  void share_weights();

 private:
  /// What the other processes send of one own chunk: a tensor for each of their subtrees.
  struct Incoming {
    const Chunk* chunk;
    std::vector<std::vector<Tensor>> sums;  // by process, then by subtree
  };
  /// The report of a process about its shards.
  struct Report {
    std::vector<LossTotals> totals;             // by subtree
    std::vector<std::vector<bool>> is_defined;  // by subtree, then by variable
    std::string error;
  };

  bool is_own(const Chunk& chunk) const { return chunk.owner == processes_->rank(); }
  index_t tag_of(const Chunk& chunk) const { return &chunk - chunks_.data(); }
  Report own_report(const BatchTrees& trees, const std::string& error) const;
  std::string packed(const Report& report) const;
  Report unpacked(std::string_view bytes, std::size_t process) const;
  std::vector<Report> gather(const Report& own) const;
  LossTotals total_of(const std::vector<Report>& reports) const;
  void note_gradients(const std::vector<Report>& reports);
  Tensor room_for(std::size_t variable, const BatchTrees& trees) const;
  Tensor sum_of(const Incoming& incoming, const BatchTrees& trees,
                const std::vector<Report>& reports) const;

  Communicator* processes_;
  const Parameters* variables_;
  std::span<const Chunk> chunks_;
  index_t shards_;
  std::vector<std::vector<ShardNode>> nodes_;  // by process
  std::vector<Incoming> incoming_;
  std::vector<std::size_t> first_chunk_;  // of each variable, and of one more
  std::vector<bool> is_sent_;             // by variable
  std::vector<bool> has_gradient_;        // by variable, in this step
  std::vector<std::byte> zeros_;          // a chunk of them
};

}  // namespace tessera::nn
