// The processes that compute a trainer's steps: Team is one process, its subclass Exchange
// (exchange.h) several. Private to training.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "nn/training/evaluate.h"
#include "nn/training/optimizer.h"
#include "nn/training/shards.h"

namespace tessera::nn {

/// The sums of a batch: of its losses, and of the gradients of the optimiser's variables. A sum is
/// undefined if no shard has that gradient.
struct BatchSums {
  LossTotals totals;
  std::vector<Tensor> gradients;
};

/// The trees of one batch, with the shards that this process has computed so far.
struct BatchTrees {
  ShardTree<LossTotals> totals;
  std::vector<ShardTree<Tensor>> gradients;          // one for each variable of the model
  std::function<void(std::size_t variable)> on_add;  // if set, add_gradient calls it

  BatchTrees(index_t shards, std::size_t variables)
      : totals(shards), gradients(variables, ShardTree<Tensor>(shards)) {}

  void add_gradient(std::size_t variable, index_t shard, Tensor gradient) {
    gradients[variable].add(shard, std::move(gradient));
    if (on_add) on_add(variable);
  }
};

/// A team of one process.
///
/// A step of the trainer is `sum`, then the optimiser's step on the parameters that the optimiser
/// has now, then `share_weights`. Totals, sums of losses and errors are the same in all processes
/// of a team.
class Team {
 public:
  /// Computes a shard and adds it to all trees.
  using AddShard = std::function<void(index_t shard, BatchTrees& trees)>;

  Team(const Optimizer& optimizer, index_t shards)
      : variables_(optimizer.variables()), shards_(shards) {}
  virtual ~Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// The model's variables, in the order of the optimiser's groups.
  const Parameters& variables() const { return variables_; }

  /// A trainer's run.
  struct Run {
    std::function<void()> body;
    std::function<Checkpoint()> facts;   // the trainer's options and examples
    std::function<Checkpoint()> state;   // the trainer's, without the optimiser's
    std::function<std::string()> place;  // the step reached, for errors
  };
  virtual void run(const Run& run) { run.body(); }

  /// The sums of the batch whose shards `add_shard` computes. **Errors**: those of `add_shard`.
  virtual BatchSums sum(const AddShard& add_shard);
  /// The sum of the squares of all gradients, from the sums of the squares of the blocks of the
  /// optimiser's variables (clip_grad.h).
  virtual double total(const Tensor& squares) const;
  /// Called when the optimiser has updated its variables.
  virtual void share_weights() {}

  /// Whether `value` is true in any process.
  virtual bool any(bool value) const { return value; }
  /// As nn::evaluate, for a model in eval mode.
  virtual LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) const;

  /// The state or settings of the whole model, from `own`, those of the optimiser's variables.
  virtual Checkpoint whole(const Checkpoint& own) const { return own; }
  /// The reverse: the optimiser's part of a whole state. **Errors**: a state that does not match.
  virtual Checkpoint own(const Checkpoint& whole) const { return whole; }

 protected:
  index_t shards() const { return shards_; }

 private:
  Parameters variables_;
  index_t shards_;
};

}  // namespace tessera::nn
