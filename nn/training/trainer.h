// Trains any model on any examples.
//
//   nn::set_requires_grad(model);
//   nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 1e-3});
//   nn::Trainer trainer(model, optimizer, {lengths, loss}, {.epochs = 10, .warmup_ratio = 0.1});
//   trainer.train();
//
// `loss` is a function from indices of examples to the SUM of their losses (loss_sum.h). Options,
// examples and seed determine a run to the last bit. The bits stay the same if a run is stopped
// after a step and resumed, and with any number of processes that share the shards.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/nn/training/batch_sampler.h"
#include "tessera/nn/training/early_stopping.h"
#include "tessera/nn/training/evaluate.h"
#include "tessera/nn/training/lr_scheduler.h"
#include "tessera/nn/training/optimizer.h"
#include "tessera/nn/training/weight_average.h"

namespace tessera::nn {

class Communicator;

/// The measure by which evaluations are compared. kAccuracy needs LossSum::correct.
enum class BestBy { kLoss, kAccuracy };

/// The shape of the learning rate after the warmup: constant, or down to 0 at the end of the run.
enum class LrDecay { kNone, kLinear, kCosine };

/// The options of Trainer.
struct TrainerOptions {
  index_t epochs = 10;      // not read if `steps` > 0
  index_t steps = 0;        // of the whole run; 0: as many as `epochs` epochs have
  index_t batch_size = 32;  // examples per step, in all shards together
  index_t shards = 1;       // parts of a batch, one in memory at a time; their number changes bits
  std::uint64_t seed = 0;   // of the order of examples, and of random numbers in losses (dropout)

  LrDecay lr_decay = LrDecay::kNone;     // of the optimiser's rates
  double warmup_ratio = 0;               // the fraction of steps in which the rates rise
  std::vector<Schedule> schedules = {};  // instead of lr_decay and warmup_ratio: 1, or 1 per group
  double max_grad_norm =
      std::numeric_limits<double>::infinity();  // the largest norm of the gradient
  double ema_decay = 0;  // the decay of the weights' moving average; 0: no average

  // Evaluation on the held-out examples, with the averaged weights if `ema_decay` > 0. An
  // evaluation always follows the last step.
  index_t evaluate_every = 0;  // steps from one evaluation to the next; 0: the steps of an epoch
  index_t patience = 0;        // evaluations without improvement before the run ends; 0: no limit
  BestBy best_by = BestBy::kLoss;
  bool keep_best = true;  // whether to keep the weights of the best evaluation

  // The processes that share the shards of each step: at most as many as `shards`. The number of
  // processes does not change the bits. The communicator must outlive the trainer. nullptr: only
  // this process.
  Communicator* communicator = nullptr;
};

/// The results of one step.
struct StepReport {
  index_t step;   // from 1 on
  index_t epoch;  // from 0 on
  LossTotals totals;
  double gradient_norm;  // of the mean loss, before clipping
  double lr;             // of the first group
  index_t length;        // the sum of the lengths of the batch's examples
};

/// The results of one evaluation.
struct EvaluationReport {
  index_t step;
  LossTotals totals;
  bool is_best;
};

/// The results of one epoch.
struct EpochReport {
  index_t epoch;
  LossTotals totals;                           // of the epoch's steps
  std::optional<EvaluationReport> evaluation;  // at the end of the epoch, if due
};

/// Functions that train() calls, each if due, in this order. No function may destroy the trainer, its
/// model or its optimiser. `save` is called before `evaluation` and
/// `epoch`, so the results that these two report are already saved.
struct TrainerCallbacks {
  std::function<void(const StepReport&)> step = {};
  std::function<void()> save = {};  // after each epoch and evaluation, and when the run stops
  std::function<void(const EvaluationReport&)> evaluation = {};
  std::function<void(const EpochReport&)> epoch = {};
};

/// Loads the final weights from a run's state: those of the best evaluation if they are kept, else
/// the averages, else the last weights.
/// **Errors**: as load_group.
template <class M>
void load_trained(const Checkpoint& run, M& model) {
  load_group(run, "model", model);
  for (const char* const group : {"best", "average"}) {
    if (run.group(group).tensors.empty()) continue;
    // The group has no constant parameters: they come from "model", loaded above.
    load_group(run, group, model, {.strict = false});
    return;
  }
}

/// The reason why a run ended.
enum class StopReason { kFinished, kEarlyStopped, kStopped };

/// Trains a model with an optimiser, which must hold all of the model's variables and no other
/// variables. The model and the optimiser must outlive the trainer. While the trainer exists, only
/// the trainer may call the optimiser's step() and set_lr().
///
/// A step draws a batch, and computes each shard of the batch under its own tape. The trainer adds
/// the losses and gradients of the shards in the order of one fixed tree (shards.h), divides the
/// sums by the number of targets in the batch, clips the gradient, and updates the weights. While a
/// loss is computed, the state of default_rng() depends only on the seed, the step and the shard;
/// afterwards the generator has its previous state.
///
/// With `options.communicator` several processes share the work. Each has its own trainer, with the
/// same weights, examples, optimiser and options, computes a part of the shards of each step, gets
/// the sums of all shards, and takes the same step. All processes must call train() and load_state()
/// in the same order; they get the same results, and each has the whole state.
/// **Errors**: an optimiser of different parameters; options out of range; `schedules` together
/// with `lr_decay` or `warmup_ratio`; examples without a loss function; more processes than shards;
/// `patience` or `evaluate_every` without held-out examples; as LRScheduler and BatchSampler.
/// **Source**: Goyal et al., "Accurate, large minibatch SGD: training ImageNet in 1 hour", 2017,
/// section 3, for one step of the summed gradients of several processes.
class Trainer {
 public:
  template <class M>
  Trainer(M& model, Optimizer& optimizer, Examples train, const TrainerOptions& options = {},
          Examples held_out = {})
      : Trainer(any_of(model), optimizer, std::move(train), options, std::move(held_out)) {}

  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the end, until `patience` is exhausted, or until stop(); may then be called again.
  /// Afterwards the model has the last weights, not the best: call load_best().
  /// **Errors**: a loss or a gradient that is not finite; a learning rate that differs from its
  /// schedule; errors of `callbacks`, of schedules and of the loss functions; as totals_of,
  /// Tape::backward and Optimizer::step; a call after load_best(), or by the loss or a callback of
  /// this call. A step that fails changes nothing, and the next run begins with that step; after a
  /// failed evaluation the next run begins with the evaluation.
  ///
  /// With several processes, different versions, options, examples, weights or arithmetic are an
  /// error before the first step; it names the first difference. Other errors may be thrown in one
  /// process only, which must then end all processes, because the others wait for it
  /// (mpi::Session::end_all).
  StopReason train(const TrainerCallbacks& callbacks = {});

  /// Ends train() after the current step, its evaluation and its callbacks. May be called from a
  /// callback, a different thread or a signal handler. With several processes a call in one of them
  /// is enough: all end after the same step.
  void stop() { stop_ = true; }

  /// Gives the model the same weights as load_trained: those of the best evaluation if they are
  /// kept, else the averages, else the last weights. If these are not the last weights, train() and
  /// state() are errors until load_state(), because a run continues from the last weights.
  void load_best();

  /// The number of steps so far.
  index_t step() const { return scheduler_.steps(); }
  /// The number of steps of the whole run.
  index_t total_steps() const { return total_steps_; }
  /// The number of steps of an epoch.
  index_t steps_per_epoch() const { return sampler_.batches_per_epoch(); }
  /// The index of the current epoch, from 0 on.
  index_t epoch() const { return sampler_.epoch(); }
  /// The step of the best evaluation, if there was one.
  std::optional<index_t> best_step() const { return best_.best_step(); }
  /// The last evaluation of this trainer. TrainerCallbacks::save is called after this value is set.
  const std::optional<EvaluationReport>& last_evaluation() const { return last_evaluation_; }
  /// Whether an evaluation follows this step.
  bool evaluates_after(index_t step) const;
  const TrainerOptions& options() const { return options_; }
  /// The digest of the training and the held-out examples, from Examples::digest.
  std::uint64_t digest() const { return train_.digest ^ held_out_.digest * 3; }

  /// All data that the rest of the run depends on: the groups model, optimizer, scheduler, sampler
  /// and trainer; after an evaluation best, with tensors only if `keep_best`; and average, if there
  /// is one. The tensors share memory with these parts.
  /// **Errors**: a prepacked weight; a call after load_best().
  Checkpoint state() const;
  /// The part of the state that load_trained reads. **Errors**: a prepacked weight.
  Checkpoint weights() const;
  /// Continues from a state that state() returned. Groups that were added to it, by names that
  /// state() does not use, are ignored. Epochs, steps, schedule and patience may differ from
  /// before.
  /// **Errors**: as state; a state that does not match; a state of a run with a different seed,
  /// batch size, number of shards or number of examples, or that differs in whether there is an
  /// average. After an error nothing is changed.
  void load_state(const Checkpoint& state);

 private:
  /// The model with its type erased.
  struct AnyModel {
    Parameters parameters;
    std::function<Parameters()> parameters_now;
    std::function<EvalScope()> eval;
    std::function<StateDict()> state;
    std::function<void(const Checkpoint&)> load;
    std::function<void(const Checkpoint&)> load_trained;
  };
  template <class M>
  static AnyModel any_of(M& model) {
    return {.parameters = parameters(model),
            .parameters_now = [&model] { return nn::parameters(model); },
            .eval = [&model] { return EvalScope(model); },
            .state = [&model] { return state_dict(model); },
            .load = [&model](const Checkpoint& state) { load_group(state, "model", model); },
            .load_trained = [&model](const Checkpoint& run) { nn::load_trained(run, model); }};
  }

  Trainer(AnyModel model, Optimizer& optimizer, Examples train, const TrainerOptions& options,
          Examples held_out);
  ShardSums compute(std::span<const index_t> examples, index_t shard);
  ShardSums sum_of(std::span<const index_t> batch);
  double update(ShardSums sums, std::span<const index_t> batch);
  StepReport advance();
  std::optional<EvaluationReport> evaluate_if_due();
  void check_rates() const;
  void check_parameters() const;
  void check_finite(const char* what, double value, std::span<const index_t> examples) const;
  void check_has_last_weights() const;
  bool stops() const;
  void require_same_run() const;
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
  LRScheduler scheduler_;
  std::optional<WeightAverage> average_;
  EarlyStopping best_;
  LossTotals epoch_totals_;
  index_t evaluated_ = 0;  // the step of the last evaluation
  std::optional<EvaluationReport> last_evaluation_;
  bool has_best_weights_ = false;  // after load_best
  bool is_running_ = false;
  std::atomic<bool> stop_ = false;
};

}  // namespace tessera::nn
