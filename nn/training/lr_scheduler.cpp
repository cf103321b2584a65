#include "tessera/nn/training/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tessera/nn/detail/check.h"

namespace tessera::nn {

namespace {

constexpr const char* kSchedulerOp = "LRScheduler";

double ratio(index_t a, index_t b) {
  return static_cast<double>(a) / static_cast<double>(std::max<index_t>(1, b));
}

/// step / warmup during the warmup, then `factor(step)`.
template <class Factor>
Schedule after_warmup(const char* op, index_t warmup, Factor factor) {
  detail::require_count(op, "warmup_steps", warmup);
  return [=](index_t step) { return step < warmup ? ratio(step, warmup) : factor(step); };
}

}  // namespace

Schedule constant_schedule(index_t warmup_steps) {
  return after_warmup("constant_schedule", warmup_steps, [](index_t) { return 1.0; });
}

Schedule linear_schedule(index_t warmup_steps, index_t total_steps) {
  detail::require_count("linear_schedule", "total_steps", total_steps);
  return after_warmup("linear_schedule", warmup_steps, [=](index_t step) {
    return std::max(0.0, ratio(total_steps - step, total_steps - warmup_steps));
  });
}

Schedule cosine_schedule(index_t warmup_steps, index_t total_steps, double cycles) {
  detail::require_count("cosine_schedule", "total_steps", total_steps);
  detail::require_finite("cosine_schedule", "cycles", cycles);
  return after_warmup("cosine_schedule", warmup_steps, [=](index_t step) {
    const double progress = ratio(step - warmup_steps, total_steps - warmup_steps);
    const double wave = std::cos(std::numbers::pi * cycles * 2.0 * progress);
    return std::max(0.0, 0.5 * (1.0 + wave));
  });
}

Schedule inverse_sqrt_schedule(index_t warmup_steps, index_t timescale) {
  detail::require_count("inverse_sqrt_schedule", "timescale", timescale);
  const index_t scale = timescale > 0 ? timescale : warmup_steps > 0 ? warmup_steps : 10000;
  return after_warmup("inverse_sqrt_schedule", warmup_steps, [=](index_t step) {
    return 1.0 / std::sqrt(ratio(step + (scale - warmup_steps), scale));
  });
}

Schedule step_schedule(index_t step_size, double gamma) {
  detail::require_size("step_schedule", "step_size", step_size);
  detail::require_not_negative("step_schedule", "gamma", gamma);
  return [=](index_t step) { return std::pow(gamma, static_cast<double>(step / step_size)); };
}

LRScheduler::LRScheduler(Optimizer& optimizer, std::vector<Schedule> schedules)
    : optimizer_(&optimizer), schedules_(std::move(schedules)) {
  const std::size_t groups = optimizer.groups().size();
  require(schedules_.size() == 1 || schedules_.size() == groups, kSchedulerOp,
          "schedules must be 1, or ", groups, ", one for each group, got ", schedules_.size());
  for (const Schedule& schedule : schedules_) {
    require(static_cast<bool>(schedule), kSchedulerOp,
            "each schedule must be a function, got an empty one");
  }
  for (std::size_t i = 0; i < groups; ++i) rate(i, 0);  // an error must change nothing
  optimizer.is_scheduled_ = true;
  set_step(0);
}

double LRScheduler::rate(std::size_t group, index_t step) const {
  const auto& groups = optimizer_->groups();
  require(group < groups.size(), kSchedulerOp, "group must be below ", groups.size(), ", got ",
          group);
  const double factor = schedules_[schedules_.size() == 1 ? 0 : group](step);
  require(factor >= 0 && std::isfinite(factor), kSchedulerOp, "the factor of group ", group,
          " must be finite and at least 0, got ", factor, " after ", step, " steps");
  return groups[group].initial_lr * factor;
}

void LRScheduler::set_step(index_t step) {
  const std::size_t groups = optimizer_->groups().size();
  for (std::size_t i = 0; i < groups; ++i) rate(i, step);  // an error must not leave some rates set
  for (std::size_t i = 0; i < groups; ++i) optimizer_->set_lr(i, rate(i, step));
  steps_ = step;
}

Checkpoint LRScheduler::state() const {
  Checkpoint state;
  state.set("step", steps_);
  return state;
}

void LRScheduler::load_state(const Checkpoint& state) {
  constexpr const char* kOp = "load_state";
  state.check_names(kOp, this->state());
  set_step(state.count(kOp, "step"));
}

}  // namespace tessera::nn
