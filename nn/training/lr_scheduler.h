// Learning rates that follow a schedule.
//
//   nn::LrScheduler scheduler(optimizer, nn::cosine_schedule(100, 2000));
//   for (...) {
//     ...
//     optimizer.step();
//     scheduler.step();
//   }
#pragma once

#include "nn/training/optimizer.h"

namespace tessera::nn {

/// The factor of the learning rate at each step: it rises from 0 to 1 in the first `warmup_steps`
/// steps, then falls as `decay` says.
/// **Source**: as the functions below.
struct Schedule {
  /// The shape of the decay after the warmup.
  enum class Decay { kNone, kLinear, kCosine };

  Decay decay = Decay::kNone;
  index_t warmup_steps = 0;
  index_t total_steps = 0;  // the end of the decay
  double cycles = 0.5;      // waves of the cosine; 0.5: from 1 down to 0

  /// The factor after `step` steps of the optimiser. **Errors**: after the warmup, an unknown
  /// decay.
  double factor(index_t step) const;
};

/// step / warmup during the warmup, then 1. **Source**:
/// transformers.get_constant_schedule_with_warmup.
Schedule constant_schedule(index_t warmup_steps = 0);

/// step / warmup during the warmup, then a straight line down to 0 at `total_steps`: (total - step)
/// / (total - warmup). **Source**: transformers.get_linear_schedule_with_warmup.
Schedule linear_schedule(index_t warmup_steps, index_t total_steps);

/// step / warmup during the warmup, then (1 + cos(2 pi cycles p)) / 2 with p = (step - warmup) /
/// (total - warmup).
/// **Source**: transformers.get_cosine_schedule_with_warmup; Loshchilov and Hutter, "SGDR", 2017.
Schedule cosine_schedule(index_t warmup_steps, index_t total_steps, double cycles = 0.5);

/// Sets the rates of an optimiser's groups to their initial rates times the schedule's factor: for
/// step 0 in the constructor, and for the next step in each call of `step`. The optimiser must
/// outlive the scheduler.
/// **Errors**: an unknown decay; a negative number of steps; cycles that are not finite.
/// **Source**: torch.optim.lr_scheduler.LambdaLR.
class LrScheduler {
 public:
  LrScheduler(Optimizer& optimizer, const Schedule& schedule);

  /// Sets the rates of the next step.
  void step();
  /// The number of calls of `step`.
  index_t steps() const { return steps_; }
  /// The rate of the first group now.
  double lr() const { return optimizer_->groups().front().lr; }

  /// The state: the value `step`. The state does not contain the schedule, so a run can continue
  /// with a longer schedule.
  Checkpoint state() const;
  /// Sets the step and the rates of the optimiser. **Errors**: a state that is not from a
  /// scheduler.
  void load_state(const Checkpoint& state);

 private:
  void apply();

  Optimizer* optimizer_;
  Schedule schedule_;
  index_t steps_ = 0;
};

}  // namespace tessera::nn
