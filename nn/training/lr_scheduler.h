// Learning rates that follow a schedule.
//
//   nn::LRScheduler scheduler(optimizer, nn::cosine_schedule(100, 2000));
//   for (...) {
//     ...
//     optimizer.step();
//     scheduler.step();
//   }
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tessera/nn/training/optimizer.h"

namespace tessera::nn {

/// The factor of the learning rate after `step` steps of the optimiser: finite and at least 0. A
/// schedule must depend only on the step, so that a resumed run is bitwise reproducible.
///
///     nn::LRScheduler scheduler(optimizer, [](index_t step) { return 100.0 / (100 + step); });
using Schedule = std::function<double(index_t step)>;

/// step / warmup during the warmup, then 1. **Errors**: a negative number of steps.
/// **Source**: transformers.get_constant_schedule_with_warmup.
Schedule constant_schedule(index_t warmup_steps = 0);

/// step / warmup during the warmup, then a straight line down to 0 at `total_steps`: (total - step)
/// / (total - warmup). **Errors**: a negative number of steps.
/// **Source**: transformers.get_linear_schedule_with_warmup.
Schedule linear_schedule(index_t warmup_steps, index_t total_steps);

/// step / warmup during the warmup, then (1 + cos(2 pi cycles p)) / 2 with p = (step - warmup) /
/// (total - warmup). **Errors**: a negative number of steps; cycles that are not finite.
/// **Source**: transformers.get_cosine_schedule_with_warmup; Loshchilov and Hutter, "SGDR", 2017.
Schedule cosine_schedule(index_t warmup_steps, index_t total_steps, double cycles = 0.5);

/// step / warmup during the warmup, then sqrt(timescale / (step - warmup + timescale)). If
/// `timescale` is 0, it is `warmup_steps`, or 10,000 without a warmup.
/// **Errors**: a negative number of steps or timescale.
/// **Source**: transformers.get_inverse_sqrt_schedule.
Schedule inverse_sqrt_schedule(index_t warmup_steps, index_t timescale = 0);

/// gamma to the power of floor(step / step_size). **Errors**: a step_size below 1; a gamma that is
/// negative or not finite. **Source**: torch.optim.lr_scheduler.StepLR.
Schedule step_schedule(index_t step_size, double gamma = 0.1);

/// Sets the rates of an optimiser's groups to their initial rates times the factors of their
/// schedules: for step 0 in the constructor, and for the next step in each call of `step`. The
/// initial rates are those of the optimiser's options or, if set_lr() was called before the first
/// scheduler was made, those of set_lr(). There is one schedule for all groups, or one for each
/// group. The optimiser must outlive the scheduler.
/// **Errors**: a different number of schedules; an empty schedule; a factor that is negative or not
/// finite.
/// **Source**: torch.optim.lr_scheduler.LambdaLR.
class LRScheduler {
 public:
  LRScheduler(Optimizer& optimizer, std::vector<Schedule> schedules);
  LRScheduler(Optimizer& optimizer, const Schedule& schedule)
      : LRScheduler(optimizer, std::vector{schedule}) {}

  /// Sets the rates of the next step. **Errors**: a factor that is negative or not finite.
  void step() { set_step(steps_ + 1); }
  /// The number of calls of `step`.
  index_t steps() const { return steps_; }
  /// The rate of the first group now.
  double lr() const { return optimizer_->groups().front().lr; }
  /// The rate that the schedule of a group gives after `step` steps. **Errors**: a group that does
  /// not exist; a factor that is negative or not finite.
  double rate(std::size_t group, index_t step) const;

  /// The state: the value `step`. The state does not contain the schedules, so a run can continue
  /// with a longer schedule.
  Checkpoint state() const;
  /// Sets the step and the rates of the optimiser. **Errors**: a state that is not from a
  /// scheduler; a factor that is negative or not finite.
  void load_state(const Checkpoint& state);

 private:
  void set_step(index_t step);

  Optimizer* optimizer_;
  std::vector<Schedule> schedules_;
  index_t steps_ = 0;
};

}  // namespace tessera::nn
