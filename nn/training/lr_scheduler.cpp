#include "nn/training/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/detail/check.h"

namespace tessera::nn {

namespace {

double ratio(index_t a, index_t b) {
  return static_cast<double>(a) / static_cast<double>(std::max<index_t>(1, b));
}

}  // namespace

double Schedule::factor(index_t step) const {
  if (step < warmup_steps) return ratio(step, warmup_steps);
  const index_t length = total_steps - warmup_steps;
  switch (decay) {
    case Decay::kNone:
      return 1;
    case Decay::kLinear:
      return std::max(0.0, ratio(total_steps - step, length));
    case Decay::kCosine: {
      const double progress = ratio(step - warmup_steps, length);
      const double wave = std::cos(std::numbers::pi * cycles * 2.0 * progress);
      return std::max(0.0, 0.5 * (1.0 + wave));
    }
  }
  fail_enum("Schedule", "decay", decay);
}

Schedule constant_schedule(index_t warmup_steps) {
  return {.warmup_steps = warmup_steps};
}

Schedule linear_schedule(index_t warmup_steps, index_t total_steps) {
  return {
      .decay = Schedule::Decay::kLinear, .warmup_steps = warmup_steps, .total_steps = total_steps};
}

Schedule cosine_schedule(index_t warmup_steps, index_t total_steps, double cycles) {
  return {.decay = Schedule::Decay::kCosine,
          .warmup_steps = warmup_steps,
          .total_steps = total_steps,
          .cycles = cycles};
}

LrScheduler::LrScheduler(Optimizer& optimizer, const Schedule& schedule)
    : optimizer_(&optimizer), schedule_(schedule) {
  constexpr const char* kOp = "LrScheduler";
  require_enum(kOp, "decay", schedule.decay, Schedule::Decay::kCosine);
  detail::require_count(kOp, "warmup_steps", schedule.warmup_steps);
  detail::require_count(kOp, "total_steps", schedule.total_steps);
  detail::require_finite(kOp, "cycles", schedule.cycles);
  apply();
}

void LrScheduler::step() {
  ++steps_;
  apply();
}

void LrScheduler::apply() {
  const double factor = schedule_.factor(steps_);
  const auto& groups = optimizer_->groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    optimizer_->set_lr(i, groups[i].initial_lr * factor);
  }
}

Checkpoint LrScheduler::state() const {
  Checkpoint state;
  state.set("step", steps_);
  return state;
}

void LrScheduler::load_state(const Checkpoint& state) {
  constexpr const char* kOp = "load_state";
  state.check_names(kOp, this->state());
  steps_ = state.count(kOp, "step");
  apply();
}

}  // namespace tessera::nn
