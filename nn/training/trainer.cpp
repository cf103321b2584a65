#include "tessera/nn/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "tessera/nn/detail/check.h"
#include "tessera/nn/training/clip_grad.h"
#include "tessera/nn/training/communicator.h"
#include "tessera/nn/training/detail/all_reduce.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/gradient.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::nn {

namespace {

constexpr const char* kTrainerOp = "Trainer";

TrainerOptions checked(TrainerOptions o) {
  detail::require_count(kTrainerOp, "steps", o.steps);
  require(o.steps > 0 || o.epochs >= 1, kTrainerOp, "epochs must be at least 1, got ", o.epochs);
  detail::require_size(kTrainerOp, "batch_size", o.batch_size);
  require(o.shards >= 1 && o.shards <= kMostShards, kTrainerOp, "shards must be from 1 to ",
          kMostShards, ", got ", o.shards);
  require_enum(kTrainerOp, "decay", o.lr_decay, LrDecay::kCosine);
  detail::require_probability(kTrainerOp, "warmup", o.warmup_ratio);
  require(o.schedules.empty() || (o.lr_decay == LrDecay::kNone && o.warmup_ratio == 0), kTrainerOp,
          "schedules must be empty if decay or warmup is set, got ", o.schedules.size(),
          "; give schedules that contain the decay and the warmup");
  require(o.max_grad_norm > 0, kTrainerOp, "clip must be above 0, got ", o.max_grad_norm);
  detail::require_decay(kTrainerOp, "average", o.ema_decay);
  detail::require_count(kTrainerOp, "evaluate_every", o.evaluate_every);
  detail::require_count(kTrainerOp, "patience", o.patience);
  require_enum(kTrainerOp, "best_by", o.best_by, BestBy::kAccuracy);
  const bool is_single = o.communicator != nullptr && o.communicator->size() == 1;
  if (is_single) o.communicator = nullptr;  // nothing to send, so no copies of gradients
  return o;
}

index_t steps_of(const TrainerOptions& options, index_t steps_per_epoch) {
  const bool fits = options.steps > 0 ? options.steps <= kMostSteps
                                      : options.epochs <= kMostSteps / steps_per_epoch;
  require(fits, kTrainerOp, "a run must have at most ", kMostSteps, " steps, got ", options.epochs,
          " epochs of ", steps_per_epoch, " steps, or ", options.steps, " steps");
  return options.steps > 0 ? options.steps : options.epochs * steps_per_epoch;
}

std::vector<Schedule> schedules_of(const TrainerOptions& options, index_t steps) {
  if (!options.schedules.empty()) return options.schedules;
  const index_t warmup = std::llround(options.warmup_ratio * static_cast<double>(steps));
  if (options.lr_decay == LrDecay::kLinear) return {linear_schedule(warmup, steps)};
  if (options.lr_decay == LrDecay::kCosine) return {cosine_schedule(warmup, steps)};
  return {constant_schedule(warmup)};
}

void check_examples(const TrainerOptions& o, const Examples& train, const Examples& held_out) {
  const bool has_held_out = !held_out.lengths.empty();
  require(train.loss && (!has_held_out || held_out.loss), kTrainerOp,
          "all examples must have a loss function, got an empty one");
  require(has_held_out || (o.patience == 0 && o.evaluate_every == 0), kTrainerOp,
          "patience and evaluate_every must be 0 without held-out examples, got ", o.patience,
          " and ", o.evaluate_every);
}

void check_optimizer(const Parameters& wanted, const Parameters& held) {
  const auto has = [](const Parameters& parameters, const Parameter& variable) {
    return std::ranges::any_of(parameters, [&](const Parameter& parameter) {
      return parameter.tensor.grad_slot() == variable.tensor.grad_slot();
    });
  };
  for (const Parameter& variable : held) {
    require(has(wanted, variable), kTrainerOp,
            "the optimiser must hold variables of the model only, got ", variable.name);
  }
  for (const Parameter& variable : wanted) {
    require(has(held, variable), kTrainerOp,
            "the optimiser must hold all variables of the model, got none for ", variable.name,
            "; exclude it from training with set_requires_grad(part, false)");
  }
}

void check_processes(const TrainerOptions& o) {
  if (o.communicator == nullptr) return;
  const index_t size = o.communicator->size();
  require(size <= o.shards, kTrainerOp, "processes must be at most as many as shards, ", o.shards,
          ", got ", size, "; use ", size,
          " or more shards, which changes the result, or fewer processes");
}

/// While in scope, train() is on the stack: a second call would take steps within a step.
class Running {
 public:
  explicit Running(bool& flag) : flag_(flag) {
    require(!flag, kTrainerOp,
            "train() must not be called by the loss or a callback of train(), got a second call");
    flag_ = true;
  }
  ~Running() { flag_ = false; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  bool& flag_;
};

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
      scheduler_(optimizer, schedules_of(options, total_steps_)),
      best_(model_.parameters, {.patience = options.patience, .keep_weights = options.keep_best}) {
  check_examples(options_, train_, held_out_);
  check_optimizer(model_.parameters, optimizer.parameters());
  check_processes(options_);
  if (options_.ema_decay > 0) average_.emplace(model_.parameters, options_.ema_decay);
}

// ---- the run ----

StopReason Trainer::train(const TrainerCallbacks& callbacks) {
  const Running running(is_running_);
  check_has_last_weights();
  stop_ = false;
  optimizer_->zero_grad();
  if (options_.communicator != nullptr) require_same_run();
  // An evaluation may be due since a failed run or the saved state: no step may skip it.
  if (const std::optional<EvaluationReport> late = evaluate_if_due()) {
    if (callbacks.save) callbacks.save();
    if (callbacks.evaluation) callbacks.evaluation(*late);
  }
  while (step() < total_steps_ && !best_.is_over()) {
    const StepReport report = advance();
    if (callbacks.step) callbacks.step(report);
    const std::optional<EvaluationReport> evaluation = evaluate_if_due();
    const bool ends_epoch = sampler_.position() == 0;
    const bool ends = step() == total_steps_;
    const bool saves = stops() || ends_epoch || evaluation || ends;
    if (callbacks.save && saves) callbacks.save();
    if (callbacks.evaluation && evaluation) callbacks.evaluation(*evaluation);
    if (callbacks.epoch && ends_epoch) callbacks.epoch({report.epoch, epoch_totals_, evaluation});
    // The callbacks may have called stop() too.
    if (saves && !ends && stops()) return StopReason::kStopped;
  }
  return step() < total_steps_ ? StopReason::kEarlyStopped : StopReason::kFinished;
}

// ---- a step ----

/// The sums of one shard.
ShardSums Trainer::compute(std::span<const index_t> examples, index_t shard) {
  ShardSums sums;
  if (!examples.empty()) {
    const RngScope random(shard_rng(options_.seed, step(), shard));
    Tape tape;
    const LossSum result = train_.loss(examples);
    sums.totals = totals_of(result);
    check_finite("loss", sums.totals.loss, examples);
    if (result.count > 0) tape.backward(result.loss);  // otherwise there is no loss
  }
  for (const Parameter& variable : optimizer_->parameters()) {
    sums.gradients.push_back(std::exchange(variable.tensor.grad_slot()->gradient, Tensor()));
  }
  return sums;
}

/// The sums of the whole batch. Only here shards are combined.
ShardSums Trainer::sum_of(std::span<const index_t> batch) {
  Communicator* const communicator = options_.communicator;
  const index_t shards = options_.shards;
  const Share mine = communicator != nullptr ? share_of(shards, *communicator) : Share{0, shards};
  ShardTree tree(shards);
  for (index_t shard = mine.begin; shard < mine.end; ++shard) {
    tree.add(shard, compute(shard_of(batch, shards, shard), shard));
  }
  if (communicator == nullptr) return std::move(tree).total();
  return all_reduce(*communicator, optimizer_->parameters(), shards, std::move(tree));
}

/// Updates the weights by the sums of the batch; returns the norm of the gradient.
double Trainer::update(ShardSums sums, std::span<const index_t> batch) {
  const Parameters& variables = optimizer_->parameters();
  for (std::size_t i = 0; i < variables.size(); ++i) {
    variables[i].tensor.grad_slot()->gradient = std::move(sums.gradients[i]);
  }
  const double targets = sums.totals.count > 0 ? sums.totals.count : 1;
  const double norm = clip_grad_norm(variables, options_.max_grad_norm, {.scale = 1 / targets});
  check_finite("norm of the gradient", norm, batch);
  check_rates();                                  // the loss may have changed them
  if (sums.totals.count > 0) optimizer_->step();  // without targets there is no gradient
  optimizer_->zero_grad();
  return norm;
}

StepReport Trainer::advance() {
  const ProfileScope scope("training step");
  check_has_last_weights();  // a callback may have called load_best()
  check_rates();
  check_parameters();
  const Rng::State place = sampler_.state();
  const index_t epoch = sampler_.epoch();
  if (sampler_.position() == 0) epoch_totals_ = {};
  const std::span<const index_t> batch = sampler_.next();
  StepReport report{step() + 1, epoch, {}, 0, scheduler_.lr(), 0};
  for (index_t i : batch) report.length += train_.lengths[static_cast<std::size_t>(i)];
  try {
    ShardSums sums = sum_of(batch);
    report.totals = sums.totals;
    report.gradient_norm = update(std::move(sums), batch);
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

/// Throws if a rate differs from its schedule, or if a schedule fails for the next step: after the
/// update, this error would leave the step half done.
void Trainer::check_rates() const {
  for (std::size_t i = 0; i < optimizer_->groups().size(); ++i) {
    const double wanted = scheduler_.rate(i, step()), rate = optimizer_->groups()[i].lr;
    require(rate == wanted, kTrainerOp, "the learning rate of group ", i, " must be ",
            shortest(wanted), ", the rate of its schedule after ", step(), " steps, got ",
            shortest(rate),
            "; use the option schedules instead of set_lr(), with a function of only "
            "the step");
    scheduler_.rate(i, step() + 1);
  }
}

/// Throws if the model no longer has the variables that the optimiser changes.
void Trainer::check_parameters() const {
  const Parameters now = model_.parameters_now();
  const auto is_same = [](const Parameter& a, const Parameter& b) {
    return a.tensor.grad_slot() == b.tensor.grad_slot();
  };
  const auto [changed, before] = std::ranges::mismatch(now, model_.parameters, is_same);
  const bool same = changed == now.end() && before == model_.parameters.end();
  require(same, kTrainerOp,
          "the model must keep its variables while it is trained, got a different ",
          before != model_.parameters.end() ? before->name : changed->name, " after ", step(),
          " steps; change a parameter by copy_from()");
}

void Trainer::check_finite(const char* what, double value,
                           std::span<const index_t> examples) const {
  if (std::isfinite(value)) return;
  constexpr std::size_t kMost = 10;
  std::string names;
  for (const index_t i : examples.first(std::min(kMost, examples.size()))) {
    names += str_cat(names.empty() ? "" : ", ", i);
  }
  if (examples.size() > kMost) names += ", ...";
  fail(kTrainerOp, "the ", what, " must be finite, got ",
       std::isnan(value) ? std::abs(value) : value, " after ", step(), " steps, for examples ",
       names, "; try a smaller learning rate, or look for NaN in these examples");
}

// ---- evaluations ----

bool Trainer::evaluates_after(index_t step) const {
  const index_t every = options_.evaluate_every > 0 ? options_.evaluate_every : steps_per_epoch();
  return !held_out_.lengths.empty() && step > 0 && (step % every == 0 || step >= total_steps_);
}

std::optional<EvaluationReport> Trainer::evaluate_if_due() {
  if (!evaluates_after(step()) || evaluated_ == step()) return {};
  std::optional<WeightAverage::Scope> averages;
  if (average_) averages.emplace(*average_);
  const EvalScope scope = model_.eval();
  EvaluationReport report{.step = step(),
                          .totals = detail::evaluate(
                              held_out_, {.batch_size = options_.batch_size, .seed = options_.seed},
                              options_.communicator),
                          .is_best = false};
  const double score =
      options_.best_by == BestBy::kLoss ? -report.totals.mean() : report.totals.accuracy();
  const bool is_counted = !std::isnan(report.totals.correct) || std::isnan(report.totals.loss);
  require(
      is_counted || options_.best_by == BestBy::kLoss, kTrainerOp,
      "best_by must be kLoss if the held-out loss counts no correct predictions, got kAccuracy; "
      "set LossSum::correct");
  report.is_best = best_.add(score, step());
  evaluated_ = step();
  last_evaluation_ = report;
  return report;
}

// ---- the state ----

/// The settings that a resumed run must not change.
Checkpoint Trainer::settings() const {
  Checkpoint settings;
  settings.set("seed", options_.seed);
  settings.set("batch_size", options_.batch_size);
  settings.set("shards", options_.shards);
  settings.set("examples", std::ssize(train_.lengths));
  settings.set("average", average_.has_value());
  return settings;
}

Checkpoint Trainer::weights() const {
  Checkpoint weights;
  weights.add("model", model_.state()).add("best", best_.state());
  if (average_) weights.add("average", average_->state());
  return weights;
}

Checkpoint Trainer::state_but_optimizer() const {
  Checkpoint trainer = settings();
  trainer.set("loss", epoch_totals_.loss);
  trainer.set("count", epoch_totals_.count);
  trainer.set("correct", epoch_totals_.correct);
  trainer.set("evaluated", evaluated_);
  return weights()
      .add("scheduler", scheduler_.state())
      .add("sampler", sampler_.state())
      .add("trainer", trainer);
}

void Trainer::load_best() {
  if (best_.state().tensors.empty() && !average_) return;  // the last weights are the final ones
  model_.load_trained(weights());
  has_best_weights_ = true;
}

void Trainer::check_has_last_weights() const {
  require(
      !has_best_weights_, kTrainerOp,
      "the model must have its last weights, got those of load_best(); call train() and state() "
      "before load_best(), or load_state() after it");
}

Checkpoint Trainer::state() const {
  check_has_last_weights();
  return state_but_optimizer().add("optimizer", optimizer_->state());
}

void Trainer::load_state(const Checkpoint& state) {
  Checkpoint before = state_but_optimizer();
  for (auto& [name, tensor] : before.tensors) tensor = tensor.detach().clone();
  try {
    take_over(state);
    optimizer_->load_state(state.group("optimizer"));  // last: on an error it changes nothing
  } catch (...) {
    take_over(before);
    throw;
  }
  scheduler_.load_state(state.group("scheduler"));  // again: it sets the rates of the optimiser
  has_best_weights_ = false;
}

void Trainer::take_over(const Checkpoint& state) {
  const Checkpoint trainer = state.group("trainer");
  for (const auto& [name, value] : settings().values) {
    if (trainer.text(name) == value) continue;
    state.refuse("load_state", name, " must be as at the start of the run, ", trainer.text(name),
                 ", got ", value);
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
    constexpr const char* kRule =
        "the checkpoint must match the seed, batch size and data of this run, got step ";
    state.refuse("load_state", kRule, steps, " at batch ", place.position, " of epoch ",
                 place.stream, " with seed ", place.seed);
  }
  model_.load(state);
  scheduler_.load_state(state.group("scheduler"));
  sampler_.set_state(place);
  if (average_) average_->load_state(state.group("average"));
  best_.load_state(state.group("best"));
  epoch_totals_ = totals;
  evaluated_ = evaluated;
}

}  // namespace tessera::nn
