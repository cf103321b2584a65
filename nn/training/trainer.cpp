#include "nn/training/trainer.h"

#include <algorithm>
#include <cmath>

#include "nn/training/clip_grad.h"
#include "tensor/autograd/tape.h"
#include "tensor/error.h"
#include "tensor/gradient.h"

namespace tessera::nn {

namespace {

constexpr const char* kOp = "Trainer";

const TrainerOptions& checked(const TrainerOptions& o) {
  require(o.steps >= 0 && (o.steps > 0 || o.epochs >= 1), kOp, o.epochs, " epochs, ", o.steps,
          " steps");
  require(o.shards >= 1 && o.shards <= kMostShards, kOp, o.shards, " shards, not 1 to ",
          kMostShards);
  require(o.warmup >= 0 && o.warmup <= 1, kOp, "warmup is ", o.warmup, ", not in [0, 1]");
  require(o.clip > 0, kOp, "clip is ", o.clip, ", not above 0");
  require(o.average >= 0 && o.average < 1, kOp, "average is ", o.average, ", not in [0, 1)");
  require(o.evaluate_every >= 0, kOp, "evaluate_every is ", o.evaluate_every);
  return o;
}

index_t steps_of(const TrainerOptions& options, index_t steps_per_epoch) {
  const bool fits = options.steps > 0 ? options.steps <= kMostSteps
                                      : options.epochs <= kMostSteps / steps_per_epoch;
  require(fits, kOp, options.epochs, " epochs of ", steps_per_epoch, " steps, or ", options.steps,
          " steps, are more than ", kMostSteps);
  return options.steps > 0 ? options.steps : options.epochs * steps_per_epoch;
}

Schedule schedule_of(const TrainerOptions& options, index_t steps) {
  return {.decay = options.decay,
          .warmup_steps = std::llround(options.warmup * static_cast<double>(steps)),
          .total_steps = steps};
}

bool has_variable(const Parameters& parameters, const Tensor& variable) {
  return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
    return parameter.tensor.grad_slot() == variable.grad_slot();
  });
}

}  // namespace

Trainer::Trainer(AnyModel model, Optimizer& optimizer, Examples train,
                 const TrainerOptions& options, Examples held_out)
    : model_(std::move(model)),
      optimizer_(&optimizer),
      train_(std::move(train)),
      options_(checked(options)),
      held_out_(std::move(held_out)),
      sampler_(train_.lengths, {.batch_size = options.batch_size, .seed = options.seed}),
      total_steps_(steps_of(options, sampler_.batches_per_epoch())),
      scheduler_(optimizer, schedule_of(options, total_steps_)),
      best_(model_.parameters, {.patience = options.patience, .keep_weights = options.keep_best}) {
  check_examples();
  check_optimizer();
  if (options_.average > 0) average_.emplace(model_.parameters, options_.average);
}

void Trainer::check_examples() const {
  require(static_cast<bool>(train_.loss), kOp, "there is no loss function");
  const bool has_held_out = !held_out_.lengths.empty();
  require(!has_held_out || held_out_.loss, kOp,
          "there is no loss function of the held-out examples");
  require(has_held_out || (options_.patience == 0 && options_.evaluate_every == 0), kOp,
          "patience and evaluate_every need held-out examples");
}

void Trainer::check_optimizer() const {
  Parameters known;
  for (const Optimizer::Group& group : optimizer_->groups()) {
    for (const Parameter& parameter : group.parameters) {
      require(has_variable(model_.parameters, parameter.tensor), kOp, "the optimiser changes ",
              parameter.name, ", which is no variable of the model");
      known.push_back(parameter);
    }
  }
  for (const auto& [name, tensor] : model_.parameters) {
    require(has_variable(known, tensor), kOp, "the optimiser does not know ", name,
            "; what shall stay as it is is frozen by set_requires_grad(part, false)");
  }
}

// ---- a step ----

/// The sums of one shard, whose gradients leave their slots.
ShardSums Trainer::compute(std::span<const index_t> examples, index_t shard) {
  ShardSums sums{.totals = {}, .gradients = std::vector<Tensor>(model_.parameters.size())};
  if (examples.empty()) return sums;
  const RngScope random(shard_rng(options_.seed, step(), shard));
  Tape tape;
  const LossSum result = train_.loss(examples);
  sums.totals = totals_of(result);
  check_finite("loss", sums.totals.loss);
  if (result.count == 0) return sums;  // there is nothing to learn, and no loss
  tape.backward(result.loss);
  for (std::size_t i = 0; i < sums.gradients.size(); ++i) {
    sums.gradients[i] = std::exchange(model_.parameters[i].tensor.grad_slot()->gradient, Tensor());
  }
  return sums;
}

/// The sums of the whole batch. Here alone shards meet: who computes them is decided here.
ShardSums Trainer::sum_of(std::span<const index_t> batch) {
  ShardTree tree(options_.shards);
  for (index_t shard = 0; shard < options_.shards; ++shard) {
    tree.add(shard, compute(shard_of(batch, options_.shards, shard), shard));
  }
  return std::move(tree).total();
}

/// Moves the weights; returns the norm of the gradient.
double Trainer::update(ShardSums sums) {
  for (std::size_t i = 0; i < sums.gradients.size(); ++i) {
    model_.parameters[i].tensor.grad_slot()->gradient = std::move(sums.gradients[i]);
  }
  const double targets = sums.totals.count > 0 ? sums.totals.count : 1;
  const double norm = clip_grad_norm(*optimizer_, options_.clip, {.scale = 1 / targets});
  check_finite("norm of the gradient", norm);
  optimizer_->step();
  optimizer_->zero_grad();
  return norm;
}

StepReport Trainer::advance() {
  const Rng::State place = sampler_.state();
  const index_t epoch = sampler_.epoch();
  if (sampler_.position() == 0) epoch_totals_ = {};
  const std::span<const index_t> batch = sampler_.next();
  StepReport report{step() + 1, epoch, {}, 0, scheduler_.lr(), 0};
  for (index_t i : batch) report.length += train_.lengths[static_cast<std::size_t>(i)];
  try {
    ShardSums sums = sum_of(batch);
    report.totals = sums.totals;
    report.gradient_norm = update(std::move(sums));
  } catch (...) {
    sampler_.set_state(place);
    optimizer_->zero_grad();
    throw;
  }
  if (average_) average_->update();
  scheduler_.step();
  epoch_totals_.add(report.totals);
  return report;
}

void Trainer::check_finite(const char* what, double value) const {
  require(std::isfinite(value), kOp, "the ", what, " is ",
          std::isnan(value) ? std::abs(value) : value, " after ", step(),
          " steps; a smaller learning rate may help");
}

// ---- the run ----

std::optional<EvaluationReport> Trainer::evaluate_if_due() {
  if (held_out_.lengths.empty() || step() == 0 || evaluated_ == step()) return {};
  const bool is_due = options_.evaluate_every > 0 ? step() % options_.evaluate_every == 0
                                                  : sampler_.position() == 0;
  if (!is_due && step() < total_steps_) return {};
  std::optional<WeightAverage::Scope> averages;
  if (average_) averages.emplace(*average_);
  const EvalScope scope = model_.eval();
  EvaluationReport report{.step = step(),
                          .totals = detail::evaluate(held_out_, {.batch_size = options_.batch_size,
                                                                 .seed = options_.seed}),
                          .is_best = false};
  const double score =
      options_.best_by == BestBy::kLoss ? -report.totals.mean() : report.totals.accuracy();
  report.is_best = best_.add(score, step());
  evaluated_ = step();
  return report;
}

RunEnd Trainer::run(const TrainerHooks& hooks) {
  stop_ = false;
  optimizer_->zero_grad();
  // One that was due when a run failed, or was saved before it: no step may pass over it.
  if (const std::optional<EvaluationReport> late = evaluate_if_due()) {
    if (hooks.save) hooks.save();
    if (hooks.evaluation) hooks.evaluation(*late);
  }
  while (step() < total_steps_ && !best_.is_over()) {
    const StepReport report = advance();
    if (hooks.step) hooks.step(report);
    const std::optional<EvaluationReport> evaluation = evaluate_if_due();
    const bool ends_epoch = sampler_.position() == 0;
    const bool ends = step() == total_steps_;
    const bool saves = stop_ || ends_epoch || evaluation || ends;
    if (hooks.save && saves) hooks.save();
    if (hooks.evaluation && evaluation) hooks.evaluation(*evaluation);
    if (hooks.epoch && ends_epoch) hooks.epoch({report.epoch, epoch_totals_, evaluation});
    if (stop_ && saves && !ends) return RunEnd::kStopped;  // the hooks may have asked for it too
  }
  return step() < total_steps_ ? RunEnd::kPatience : RunEnd::kFinished;
}

// ---- the state ----

/// What a resumed run must have as before.
Checkpoint Trainer::settings() const {
  Checkpoint settings;
  settings.set("seed", options_.seed);
  settings.set("batch_size", options_.batch_size);
  settings.set("shards", options_.shards);
  settings.set("examples", std::ssize(train_.lengths));
  settings.set("average", average_.has_value());
  return settings;
}

Checkpoint Trainer::state() const {
  Checkpoint trainer = settings();
  trainer.set("loss", epoch_totals_.loss);
  trainer.set("count", epoch_totals_.count);
  trainer.set("correct", epoch_totals_.correct);
  trainer.set("evaluated", evaluated_);
  Checkpoint state;
  state.add("model", model_.state())
      .add("optimizer", optimizer_->state())
      .add("scheduler", scheduler_.state())
      .add("sampler", sampler_.state())
      .add("trainer", trainer)
      .add("best", best_.state());
  if (average_) state.add("average", average_->state());
  return state;
}

void Trainer::load_state(const Checkpoint& state) {
  Checkpoint before = this->state();
  for (auto& [name, tensor] : before.tensors) tensor = tensor.detach().clone();
  try {
    take_over(state);
  } catch (...) {
    take_over(before);
    throw;
  }
}

void Trainer::take_over(const Checkpoint& state) {
  const Checkpoint trainer = state.group("trainer");
  for (const auto& [name, value] : settings().values) {
    if (trainer.text(name) == value) continue;
    state.refuse("load_state", "it was begun with ", name, " ", trainer.text(name), ", not ",
                 value);
  }
  const LossTotals totals{trainer.number("loss"), trainer.number("count"),
                          trainer.number("correct")};
  const index_t evaluated = trainer.count("load_state", "evaluated");
  const Rng::State place = state.rng("sampler");
  const index_t steps = state.group("scheduler").count("load_state", "step");
  const auto batches = static_cast<std::uint64_t>(steps_per_epoch());
  const auto made = static_cast<std::uint64_t>(steps);
  if (place.seed != options_.seed || place.stream != made / batches ||
      place.position != made % batches) {
    state.refuse("load_state", "step ", steps, " is not batch ", place.position, " of epoch ",
                 place.stream, " with seed ", place.seed);
  }
  model_.load(state);
  optimizer_->load_state(state.group("optimizer"));
  scheduler_.load_state(state.group("scheduler"));
  sampler_.set_state(place);
  if (average_) average_->load_state(state.group("average"));
  best_.load_state(state.group("best"));
  epoch_totals_ = totals;
  evaluated_ = evaluated;
}

}  // namespace tessera::nn
