// Several processes that train together: they exchange the gradients of a step, each chunk to its
// owner, and then the new weights. Private to the trainer.
//
// A process computes some of a batch's shards and adds them to complete subtrees of the shards'
// tree (shards.h). It sends each chunk (chunks.h) of each subtree to the owner of the chunk, as
// soon as the backward of its last shard has finished the chunk's parameter. The owner finishes the
// tree. So for any number of processes, the same values are added in the same order.
//
// Let process p of P own N_p of the N elements that have a gradient, and let its shards make n_p
// subtrees. In a step it sends
//
//     n_p (N - N_p)  elements of gradients    and    (P - 1) N_p  elements of new weights,
//
// 2 N (P - 1) / P if there are P shards, or if P and the number of shards are powers of two. A step
// also has three short all_gathers: of losses and errors, of the norm's parts, of requests to stop.
//
// **Source**: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
// Models", 2020, section 5, for owners of parts of the optimiser's state.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/training/communicator.h"
#include "nn/training/detail/owned_chunks.h"
#include "nn/training/detail/team.h"

namespace tessera::nn {

/// The team of several processes, each of which has such an object for the same optimiser and
/// shards.
///
/// It replaces the optimiser's parameters by views of this process's chunks (owned_chunks.h). So
/// the optimiser keeps the moments of only these chunks, and updates only these.
/// **Errors**: more processes than shards; processes that disagree on the optimiser, its parameters
/// or settings; more chunks than Communicator::kMostTags / 2. After an error nothing is changed.
class Exchange final : public Team {
 public:
  /// The optimiser and `communicator` must outlive this object.
  Exchange(Communicator& communicator, Optimizer& optimizer, index_t shards);

  /// Throws if processes disagree; adds the step to a ProcessLost.
  void run(const Run& run) override;
  /// Each process computes its share of the shards. A gradient is sent when the last of these
  /// shards has added it. **Errors**: std::runtime_error with the first error of any process, the
  /// same in all.
  BatchSums sum(const AddShard& add_shard) override;
  double total(const Tensor& squares) const override;
  /// Sends the new weights of this process's chunks to all, and receives those of the others, for
  /// the variables that had a gradient in the step.
  void share_weights() override;
  bool any(bool value) const override;
  LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) const override;
  Checkpoint whole(const Checkpoint& own) const override { return owned_.whole(own); }
  Checkpoint own(const Checkpoint& whole) const override {
    return owned_.own(whole, optimizer_->state());
  }

 private:
  /// The sums for one of this process's chunks from the others: a tensor for each of their
  /// subtrees.
  using Incoming = std::vector<std::vector<Tensor>>;  // by process, then by subtree
  /// The report of a process about its shards.
  struct Report {
    std::vector<LossTotals> totals;             // by subtree
    std::vector<std::vector<bool>> is_defined;  // by subtree, then by variable
    std::string error;
  };

  index_t rank() const { return communicator_->rank(); }
  bool is_own(const Chunk& chunk) const { return chunk.owner == rank(); }
  index_t tag_of(const Chunk& chunk) const;
  void check(const Optimizer& optimizer) const;
  void begin();
  void send(std::size_t variable, const BatchTrees& trees);
  BatchSums finish(const BatchTrees& trees, const std::string& error);
  Report own_report(const BatchTrees& trees, const std::string& error) const;
  std::string packed(const Report& report) const;
  Report unpacked(std::string_view bytes, std::size_t process) const;
  std::vector<Report> gather(const Report& own) const;
  LossTotals total_of(const std::vector<Report>& reports) const;
  void note_gradients(const std::vector<Report>& reports);
  Tensor sum_of(std::size_t view, const BatchTrees& trees,
                const std::vector<Report>& reports) const;

  Communicator* communicator_;
  Optimizer* optimizer_;
  OwnedChunks owned_;
  std::vector<std::vector<ShardNode>> nodes_;  // by process
  std::vector<Incoming> incoming_;             // by own view
  std::vector<std::size_t> first_chunk_;       // of each variable, and of one more
  std::vector<bool> is_sent_;                  // by variable
  std::vector<bool> has_gradient_;             // by variable, in this step
  std::vector<std::byte> zeros_;               // of a chunk's size
};

/// The team of a trainer: an Exchange of several processes, or a Team of only this process.
std::unique_ptr<Team> make_team(Communicator* communicator, Optimizer& optimizer, index_t shards);

}  // namespace tessera::nn
