// The processes that make a trainer's steps. Here: only the trainer's own. Several processes are the
// subclass Exchange (exchange.h). Private to training.
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

/// The sums of a batch: of its losses, and of the gradients of the optimiser's variables, undefined
/// where no shard has one.
struct BatchSums {
  LossTotals totals;
  std::vector<Tensor> gradients;
};

/// The trees of one batch, as far as this process has computed its shards.
struct BatchTrees {
  ShardTree<LossTotals> totals;
  std::vector<ShardTree<Tensor>> gradients;          // one of each variable of the model
  std::function<void(std::size_t variable)> on_add;  // if there is one, add_gradient calls it

  BatchTrees(index_t shards, std::size_t variables)
      : totals(shards), gradients(variables, ShardTree<Tensor>(shards)) {}

  void add_gradient(std::size_t variable, index_t shard, Tensor gradient) {
    gradients[variable].add(shard, std::move(gradient));
    if (on_add) on_add(variable);
  }
};

/// A team of one process.
///
/// A step of the trainer is `sum`, then the optimiser's step on the parameters that the optimiser has
/// now, then `share_weights`. Totals, sums of losses and errors are the same in all processes of a team.
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
    std::function<Checkpoint()> facts;   // its options and examples
    std::function<Checkpoint()> state;   // that of the trainer, without the optimiser's
    std::function<std::string()> place;  // how far it has come, for errors
  };
  virtual void run(const Run& run) { run.body(); }

  /// The sums of the batch whose shards `add_shard` computes. **Errors**: those of `add_shard`.
  virtual BatchSums sum(const AddShard& add_shard);
  /// The sum of the squares of all gradients, from those of the blocks of the optimiser's
  /// variables (clip_grad.h).
  virtual double total(const Tensor& squares) const;
  /// Called when the optimiser has moved its variables.
  virtual void share_weights() {}

  /// Whether `value` is true in any process.
  virtual bool any(bool value) const { return value; }
  /// As nn::evaluate, of a model that is in eval mode.
  virtual LossTotals evaluate(const Examples& examples, const EvaluationOptions& options) const;

  /// The whole state, or the whole settings, that `own` is of the optimiser's variables.
  virtual Checkpoint whole(const Checkpoint& own) const { return own; }
  /// The reverse: what the optimiser takes of a whole state. **Errors**: a state that does not fit.
  virtual Checkpoint own(const Checkpoint& whole) const { return whole; }

 protected:
  index_t shards() const { return shards_; }

 private:
  Parameters variables_;
  index_t shards_;
};

}  // namespace tessera::nn
