// Trains any model on any examples.
//
//   nn::set_requires_grad(model);
//   nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 1e-3});
//   nn::Trainer trainer(model, optimizer, {lengths, loss}, {.epochs = 10, .warmup = 0.1});
//   trainer.run();
//
// `loss` is a function from numbers of examples to the SUM of their losses (loss_sum.h). Options,
// examples and seed determine a run to the last bit: it may be stopped after any step and resumed,
// and its shards may be computed in any grouping.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nn/training/batch_sampler.h"
#include "nn/training/early_stopping.h"
#include "nn/training/evaluate.h"
#include "nn/training/lr_scheduler.h"
#include "nn/training/optimizer.h"
#include "nn/training/weight_average.h"

namespace tessera::nn {

class Communicator;
class Team;
struct BatchSums;
struct BatchTrees;

/// The measure by which evaluations are compared.
enum class BestBy { kLoss, kAccuracy };

struct TrainerOptions {
  index_t epochs = 10;
  index_t steps = 0;        // in all; 0: as many as the epochs have
  index_t batch_size = 32;  // examples a step, in all shards together
  index_t shards = 1;       // parts in which a batch is computed: less memory, other bits
  std::uint64_t seed = 0;   // of the order of the examples, and of what their losses draw

  Schedule::Decay decay = Schedule::Decay::kNone;  // of the optimiser's rates, to 0 at the end
  double warmup = 0;                               // the share of the steps in which they rise
  double clip = std::numeric_limits<double>::infinity();  // the largest norm of the gradient
  double average = 0;  // the decay of the weights' moving average; 0: none is kept

  // On held-out examples, with the averages as weights where they are kept:
  index_t evaluate_every = 0;  // steps between evaluations, one more at the end; 0: one an epoch
  index_t patience = 0;        // evaluations without a better one before the run ends; 0: no limit
  BestBy best_by = BestBy::kLoss;
  bool keep_best = true;  // the weights of the best evaluation

  // Who shares each step, shard by shard; no more than `shards`, and no bit depends on it. They must
  // outlive the trainer. nullptr: this is the only process.
  Communicator* processes = nullptr;
};

struct StepReport {
  index_t step;   // from 1 on
  index_t epoch;  // from 0 on
  LossTotals totals;
  double gradient_norm;  // of the mean loss, before clipping
  double lr;             // of the first group
  index_t length;        // of the batch's examples together
};

struct EvaluationReport {
  index_t step;
  LossTotals totals;
  bool is_best;
};

struct EpochReport {
  index_t epoch;
  LossTotals totals;                           // of the epoch's steps
  std::optional<EvaluationReport> evaluation;  // if one was at its end
};

/// Called in this order, each when it is due: so what `evaluation` and `epoch` announce is saved.
struct TrainerHooks {
  std::function<void(const StepReport&)> step = {};
  std::function<void()> save = {};  // after each epoch and evaluation, and when the run stops
  std::function<void(const EvaluationReport&)> evaluation = {};
  std::function<void(const EpochReport&)> epoch = {};
};

/// Why a run ended.
enum class RunEnd { kFinished, kPatience, kStopped };

/// Trains a model by an optimiser, which must hold all of its variables and no others. Both must
/// outlive the trainer; nothing else may step the optimiser meanwhile.
///
/// A step draws a batch, computes each shard under a tape of its own, sums losses and gradients by
/// one tree, divides them by the number of the batch's targets, clips, and updates. While a
/// loss is computed the thread's default generator is one that depends only on the seed, the step and
/// the shard; afterwards it is as it was.
/// Several processes share the work where `options.processes` says so. Each has a trainer of its own,
/// with the same weights, examples, optimiser and options; all call the functions of theirs in the
/// same order, and get the same results. From then on the optimiser has this process's chunks as
/// parameters, views of the model's: it keeps what its rule needs of them, and of nothing else.
/// **Errors**: an optimiser of other parameters; options out of range; more processes than shards;
/// processes that disagree on the optimiser; patience or evaluations without held-out examples; as
/// BatchSampler.
class Trainer {
 public:
  template <class M>
  Trainer(M& model, Optimizer& optimizer, Examples train, const TrainerOptions& options = {},
          Examples held_out = {})
      : Trainer(any_of(model), optimizer, std::move(train), options, std::move(held_out)) {}

  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the end, until patience is over, or until it is stopped; may be called again then.
  /// **Errors**: a loss or a gradient that is not finite; those of the hooks and of the loss
  /// functions. The step that fails changes nothing, and the next run begins with it; one that
  /// follows a failed evaluation begins with that.
  ///
  /// Of several processes: those that disagree about options, examples, weights or arithmetic; then
  /// nothing was trained. ProcessLost, which says in which step, where one has ended. A loss
  /// function's error comes to all; that of a hook stays with its process, which must then end, so
  /// that the others do not wait for it.
  RunEnd run(const TrainerHooks& hooks = {});

  /// Ends `run` after the current step, with its evaluation and hooks. May be called from a hook,
  /// another thread or a signal handler; of several processes one is enough, and all end after the
  /// same step.
  void stop() { stop_ = true; }

  index_t step() const { return scheduler_.steps(); }
  index_t total_steps() const { return total_steps_; }
  index_t steps_per_epoch() const { return sampler_.batches_per_epoch(); }
  index_t epoch() const { return sampler_.epoch(); }
  /// The step of the best evaluation, if there was one.
  std::optional<index_t> best_step() const { return best_.best_step(); }

  /// All that the rest of the run depends on: the groups model, optimizer, scheduler, sampler and
  /// trainer, and, where they are kept, average and best. Its tensors share memory with those.
  /// Several processes call it together; the optimiser's tensors are only in that of rank 0.
  Checkpoint state() const;
  /// The part of the state that load_trained reads. A process calls it without the others.
  Checkpoint weights() const;
  /// Continues from such a state; the rest of it is ignored. Epochs, steps, schedule, patience
  /// and the like may be others than before.
  /// **Errors**: a state that does not fit, or of a run with another seed, batch size or number of
  /// shards or examples; then nothing is changed.
  void load_state(const Checkpoint& state);

 private:
  /// What the trainer needs of a model of any type.
  struct AnyModel {
    Parameters parameters;
    std::function<EvalScope()> eval;
    std::function<StateDict()> state;
    std::function<void(const Checkpoint&)> load;
  };
  template <class M>
  static AnyModel any_of(M& model) {
    return {.parameters = parameters(model),
            .eval = [&model] { return EvalScope(model); },
            .state = [&model] { return state_dict(model); },
            .load = [&model](const Checkpoint& state) { load_group(state, "model", model); }};
  }

  Trainer(AnyModel model, Optimizer& optimizer, Examples train, const TrainerOptions& options,
          Examples held_out);
  void check_examples() const;
  void check_optimizer() const;
  Checkpoint facts() const;
  void compute(std::span<const index_t> examples, index_t shard, BatchTrees& trees);
  BatchSums sum_of(std::span<const index_t> batch);
  double update(BatchSums sums);
  StepReport advance();
  RunEnd run_steps(const TrainerHooks& hooks);
  void forget_gradients();
  std::optional<EvaluationReport> evaluate_if_due();
  void check_finite(const char* what, double value) const;
  Checkpoint settings() const;
  Checkpoint state_but_optimizer() const;
  void take_over(const Checkpoint& state);

  AnyModel model_;
  Optimizer* optimizer_;
  Examples train_;
  TrainerOptions options_;
  Examples held_out_;
  BatchSampler sampler_;
  index_t total_steps_;
  LrScheduler scheduler_;
  std::optional<WeightAverage> average_;
  EarlyStopping best_;
  LossTotals epoch_totals_;
  index_t evaluated_ = 0;  // the step of the last evaluation
  std::atomic<bool> stop_ = false;
  std::unique_ptr<Team> team_;
  std::unordered_map<const GradSlot*, std::size_t> numbers_;  // of the team's variables
};

/// Gives the model the weights to use of a run's state: those of the best evaluation where they are
/// kept, else the averages, else the last ones.
/// **Errors**: as load_group.
template <class M>
void load_trained(const Checkpoint& run, M& model) {
  load_group(run, "model", model);
  for (const char* const group : {"best", "average"}) {
    if (run.group(group).tensors.empty()) continue;
    load_group(run, group, model, {.strict = false});  // frozen parameters are not in it
    return;
  }
}

}  // namespace tessera::nn
