// The trainer: the definition of a step, that shards, stops and evaluations do not change the bits,
// and the reports.
#include "tessera/nn/training/trainer.h"

#include <bit>

#include "tests/nn/training/training_net.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// Classes that contradict the points: the better the model, the larger the loss.
void spoil(Points& points) {
  const Tensor y = points.y.clone();
  points.y.copy_from(where(eq(y, -100), y, where(eq(y, 2), 0, y + 1)));
}

// ---- a step ----

struct ShardSums {
  nn::LossTotals totals;
  std::vector<Tensor> gradients;
};

/// The sums of shards [begin, end) of a batch by the definition, the right part computed first.
ShardSums naive(const Trial& run, std::span<const index_t> batch, index_t step, index_t shards,
                index_t begin, index_t end) {
  if (end - begin > 1) {
    const auto half =
        static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(end - begin - 1)));
    const ShardSums right = naive(run, batch, step, shards, begin + half, end);
    ShardSums left = naive(run, batch, step, shards, begin, begin + half);
    left.totals.add(right.totals);
    for (std::size_t i = 0; i < left.gradients.size(); ++i) {
      nn::add_to(left.gradients[i], right.gradients[i]);
    }
    return left;
  }
  ShardSums sums;
  const index_t first = std::ssize(batch) * begin / shards;
  const index_t last = std::ssize(batch) * end / shards;
  Net copy = nn::clone(run.net);
  if (first < last) {
    default_rng().set_state(nn::shard_rng(5, step, begin).state());
    Tape tape;
    const nn::LossSum loss = run.train.loss(
        copy,
        batch.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
    if (loss.count > 0) {
      tape.backward(loss.loss);
      sums.totals = {loss.loss.item(), loss.count, loss.correct};
    }
  }
  for (const auto& [name, tensor] : nn::parameters(copy)) {
    sums.gradients.push_back(tensor.grad().defined() ? tensor.grad().clone() : Tensor());
  }
  return sums;
}

TEST(Trainer, AStepIsItsDefinition) {
  for (const index_t shards : {1, 2, 3, 4, 7}) {
    nn::TrainerOptions options = Trial::options();
    options.shards = shards;
    Trial got(options);
    std::vector<double> losses;
    got.trainer.train(
        {.step = [&](const nn::StepReport& r) { losses.push_back(r.totals.mean()); }});

    Trial want;  // its own trainer is not used
    nn::BatchSampler sampler(want.train.examples(want.net).lengths, {.batch_size = 8, .seed = 5});
    nn::LRScheduler scheduler(want.optimizer, nn::linear_schedule(4, 21));
    ASSERT_EQ(losses.size(), 21U);
    for (index_t step = 0; step < 21; ++step) {
      const ShardSums sums = naive(want, sampler.next(), step, shards, 0, shards);
      EXPECT_EQ(losses[static_cast<std::size_t>(step)], sums.totals.mean()) << step;
      const nn::Parameters parameters = nn::parameters(want.net);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        parameters[i].tensor.grad_slot()->gradient = sums.gradients[i];
      }
      nn::clip_grad_norm(want.optimizer.parameters(), 0.5, {.scale = 1 / sums.totals.count});
      want.optimizer.step();
      want.optimizer.zero_grad();
      scheduler.step();
    }
    const nn::StateDict weights = nn::state_dict(want.net);
    for (const auto& [name, tensor] : nn::state_dict(got.net)) {
      EXPECT_TRUE(same_bits(tensor.detach(), weights.at(name).detach())) << name << ", " << shards;
    }
  }
}

TEST(Trainer, ShardsGiveTheGradientOfTheWholeBatchButForRounding) {
  const auto end = [](index_t shards) {
    nn::TrainerOptions options = Trial::options();
    options.shards = shards;
    options.steps = 5;
    Trial run(options);
    run.net.dropout.p = 0;
    run.trainer.train();
    return run.net.first.weight->detach().clone();
  };
  const Tensor whole = end(1);
  for (const index_t shards : {2, 3, 8}) {
    EXPECT_TRUE(near(end(shards), array(whole), 0, 1e-4)) << shards;
  }
}

TEST(Trainer, LearnsAndLeavesTheGeneratorAlone) {
  Trial run({.epochs = 40, .batch_size = 8, .ema_decay = 0.9, .patience = 0}, true);
  manual_seed(77);
  const Rng::State before = default_rng().state();
  EXPECT_EQ(run.trainer.train(), nn::StopReason::kFinished);
  EXPECT_EQ(default_rng().state(), before);
  const nn::LossTotals train = nn::evaluate(run.net, run.train.examples(run.net));
  EXPECT_EQ(train.count, 40);
  EXPECT_GT(train.accuracy(), 0.9);
  EXPECT_TRUE(run.net.dropout.training);
  EXPECT_FALSE(run.net.first.weight->grad().defined());
}

TEST(Trainer, GroupsFollowTheirOwnRates) {
  Trial base;
  nn::AdamW optimizer(
      std::vector<nn::ParameterGroup>{
          {.parameters = {{"a", base.net.first.weight}, {"b", base.net.first.bias}}, .lr = 0.0},
          {.parameters = {{"c", base.net.second.weight}, {"d", base.net.second.bias}}}},
      {.lr = 0.5});
  const Tensor first = base.net.first.weight->detach().clone();
  const Tensor second = base.net.second.weight->detach().clone();
  nn::TrainerOptions options = Trial::options();
  nn::Trainer trainer(base.net, optimizer, base.train.examples(base.net), options);
  trainer.train({.step = [&](const nn::StepReport& report) {
    const double left = static_cast<double>(21 - report.step) / 17;  // that of the next step
    const double up = static_cast<double>(report.step) / 4;
    EXPECT_DOUBLE_EQ(optimizer.groups()[1].lr, 0.5 * std::min(left, up));
    EXPECT_EQ(report.lr, 0);
  }});
  EXPECT_TRUE(same_bits(base.net.first.weight->detach(), first));
  EXPECT_FALSE(same_bits(base.net.second.weight->detach(), second));
}

TEST(Trainer, FixedPartsStayAndAreSaved) {
  Trial base;
  nn::set_requires_grad(base.net.first, false);
  nn::AdamW optimizer(base.net);
  nn::Trainer trainer(base.net, optimizer, base.train.examples(base.net), {.epochs = 1});
  const Tensor first = base.net.first.weight->clone();
  trainer.train();
  EXPECT_TRUE(same_bits(base.net.first.weight, first));
  EXPECT_TRUE(trainer.state().tensors.contains("model.first.weight"));
  EXPECT_FALSE(trainer.state().tensors.contains("optimizer.first.weight.exp_avg"));
}

// A batch without targets changes no weights, but is a step.
TEST(Trainer, BatchesWithoutTargets) {
  for (const index_t shards : {1, 3}) {
    nn::TrainerOptions options = Trial::options();
    options.shards = shards;
    Trial run(options);
    run.train.y.fill(-100);
    const nn::StateDict before = copy_of({.tensors = nn::state_dict(run.net)}).tensors;
    index_t steps = 0;
    run.trainer.train({.step = [&](const nn::StepReport& report) {
      ++steps;
      EXPECT_EQ(report.totals.count, 0);
      EXPECT_EQ(report.gradient_norm, 0);
    }});
    EXPECT_EQ(steps, 21);
    for (const auto& [name, tensor] : nn::state_dict(run.net)) {
      EXPECT_TRUE(same_bits(tensor.detach(), before.at(name))) << name;
    }
  }
}

// ---- stops and states ----

/// All options together: shards, averages, evaluations within epochs, patience. The held-out points
/// contradict the training, so the best evaluation is not the last.
nn::TrainerOptions everything() {
  nn::TrainerOptions options = Trial::options();
  options.shards = 3;
  options.ema_decay = 0.8;
  options.evaluate_every = 4;
  options.patience = 50;
  return options;
}
struct Everything : Trial {
  Everything() : Trial(everything(), true) { spoil(held_out); }
};

TEST(Trainer, ARunThatWasStoppedAnywhereEndsWithTheSameBits) {
  Everything whole;
  EXPECT_EQ(whole.trainer.train(), nn::StopReason::kFinished);
  const nn::Checkpoint want = copy_of(whole.trainer.state());
  EXPECT_TRUE(want.tensors.contains("best.first.weight"));
  EXPECT_TRUE(want.tensors.contains("average.first.weight"));
  EXPECT_GT(want.integer("best.in_vain"), 1);
  const TemporaryFolder folder;
  for (index_t cut = 1; cut < 21; ++cut) {
    const auto path = folder.path() / "c";
    {
      Everything first;
      const nn::StopReason end =
          first.trainer.train({.step =
                                   [&](const nn::StepReport& r) {
                                     if (r.step == cut) first.trainer.stop();
                                   },
                               .save = [&] { nn::save_checkpoint(path, first.trainer.state()); }});
      EXPECT_EQ(end, nn::StopReason::kStopped);
    }
    Everything second;
    (void)rand({5});  // the thread's generator is not part of it
    second.trainer.load_state(nn::load_checkpoint(path));
    EXPECT_EQ(second.trainer.step(), cut);
    EXPECT_EQ(second.trainer.train(), nn::StopReason::kFinished);
    EXPECT_TRUE(same_state(second.trainer.state(), want)) << "stopped after " << cut;
  }
}

// If a step with an evaluation was saved before that, the resumed run begins with the evaluation.
TEST(Trainer, AStateFromAnyHookEndsWithTheSameBits) {
  Everything whole;
  std::vector<nn::Checkpoint> states;
  whole.trainer.train(
      {.step = [&](const nn::StepReport&) { states.push_back(copy_of(whole.trainer.state())); }});
  for (const nn::Checkpoint& state : states) {
    Everything second;
    second.trainer.load_state(state);
    EXPECT_EQ(second.trainer.train(), nn::StopReason::kFinished);
    EXPECT_TRUE(same_state(second.trainer.state(), whole.trainer.state()))
        << "saved after " << state.text("scheduler.step");
  }
}

TEST(Trainer, AnyHookMayStopIt) {
  Trial run(Trial::options(), true);
  const auto stop = [&](const auto&) { run.trainer.stop(); };
  EXPECT_EQ(run.trainer.train({.evaluation = stop}), nn::StopReason::kStopped);
  EXPECT_EQ(run.trainer.step(), 7);
  EXPECT_EQ(run.trainer.train({.epoch = stop}), nn::StopReason::kStopped);
  EXPECT_EQ(run.trainer.step(), 14);
  EXPECT_EQ(run.trainer.train({.epoch = stop}), nn::StopReason::kFinished);
}

TEST(Trainer, GoesOnAfterAStopInTheSameProcess) {
  Trial whole(everything(), true);
  whole.trainer.train();
  Trial run(everything(), true);
  index_t stops = 0;
  while (run.trainer.train({.step = [&](const nn::StepReport&) { run.trainer.stop(); }}) ==
         nn::StopReason::kStopped) {
    ++stops;
  }
  EXPECT_EQ(stops, 20);
  EXPECT_TRUE(same_state(run.trainer.state(), whole.trainer.state()));
  EXPECT_EQ(run.trainer.train(), nn::StopReason::kFinished);  // no steps remain
}

TEST(Trainer, AScheduleResumesWithTheSameBits) {
  nn::TrainerOptions options = Trial::options();
  options.lr_decay = nn::LrDecay::kNone;
  options.warmup_ratio = 0;
  const nn::Schedule falls = [](index_t step) { return 1 / (1 + static_cast<double>(step)); };
  options.schedules = {falls, nn::step_schedule(5)};
  Trial whole(options);
  std::vector<double> rates;
  whole.trainer.train({.step = [&](const nn::StepReport& r) { rates.push_back(r.lr); }});
  EXPECT_EQ(rates[0], 0.02);
  EXPECT_EQ(rates[3], 0.02 * 0.25);
  for (const index_t cut : {1, 4, 5, 7, 20}) {
    Trial first(options);
    first.trainer.train({.step = [&](const nn::StepReport& r) {
      if (r.step == cut) first.trainer.stop();
    }});
    Trial second(options);
    second.trainer.load_state(copy_of(first.trainer.state()));
    second.trainer.train({.step = [&](const nn::StepReport& r) {
      EXPECT_EQ(r.lr, rates[static_cast<std::size_t>(r.step - 1)]);
    }});
    EXPECT_TRUE(same_state(second.trainer.state(), whole.trainer.state())) << cut;
  }
}

TEST(Trainer, DecayAndWarmupAreSchedules) {
  for (const nn::LrDecay decay : {nn::LrDecay::kNone, nn::LrDecay::kLinear, nn::LrDecay::kCosine}) {
    nn::TrainerOptions options = Trial::options();
    options.lr_decay = decay;
    Trial by_options(options);
    by_options.trainer.train();
    options.lr_decay = nn::LrDecay::kNone;
    options.warmup_ratio = 0;
    options.schedules = {decay == nn::LrDecay::kNone     ? nn::constant_schedule(4)
                         : decay == nn::LrDecay::kLinear ? nn::linear_schedule(4, 21)
                                                         : nn::cosine_schedule(4, 21)};
    Trial by_schedule(options);
    by_schedule.trainer.train();
    EXPECT_TRUE(same_state(by_schedule.trainer.state(), by_options.trainer.state()));
  }
}

// Evaluations do not change the bits of the training.
TEST(Trainer, EvaluationsDisturbNothing) {
  Trial plain;
  plain.trainer.train();
  nn::TrainerOptions options = Trial::options();
  options.evaluate_every = 1;
  options.ema_decay = 0.5;
  Trial watched(options, true);
  watched.trainer.train();
  for (const auto& [name, tensor] : nn::state_dict(plain.net)) {
    EXPECT_TRUE(same_bits(tensor.detach(), nn::state_dict(watched.net).at(name).detach())) << name;
  }
}

TEST(Trainer, EvaluatesInEvalModeWithTheSameRandomNumbersEachTime) {
  Trial run({.epochs = 2, .batch_size = 8});
  std::vector<double> drawn;
  nn::Examples held_out = run.held_out.examples(run.net);
  held_out.loss = [&, inner = held_out.loss](std::span<const index_t> chosen) {
    EXPECT_FALSE(run.net.dropout.training);
    EXPECT_EQ(active_recorder, nullptr);
    drawn.push_back(rand({1}).item());
    return inner(chosen);
  };
  nn::AdamW optimizer(run.net);
  nn::Trainer trainer(run.net, optimizer, run.train.examples(run.net),
                      {.epochs = 2, .batch_size = 8}, held_out);
  trainer.train();
  EXPECT_TRUE(run.net.dropout.training);
  ASSERT_EQ(drawn.size(), 6U);  // 3 batches after each epoch
  EXPECT_NE(drawn[0], drawn[1]);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(drawn[i], drawn[i + 3]);
  // A module in eval mode stays in eval mode.
  nn::eval(run.net);
  (void)nn::evaluate(run.net, held_out);
  EXPECT_FALSE(run.net.dropout.training);
}

// ---- the best evaluation ----

TEST(Trainer, StopsWhenPatienceIsOverAndKeepsTheBest) {
  nn::TrainerOptions options = Trial::options();
  options.epochs = 100;
  options.patience = 2;
  options.lr_decay = nn::LrDecay::kNone;
  Trial run(options, true);
  spoil(run.held_out);
  std::vector<nn::EvaluationReport> seen;
  const nn::StopReason end = run.trainer.train(
      {.evaluation = [&](const nn::EvaluationReport& report) { seen.push_back(report); }});
  EXPECT_EQ(end, nn::StopReason::kEarlyStopped);
  ASSERT_GE(seen.size(), 3U);
  std::size_t best = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const bool is_best = i == 0 || seen[i].totals.mean() < seen[best].totals.mean();
    EXPECT_EQ(seen[i].is_best, is_best) << i;
    if (is_best) best = i;
  }
  EXPECT_EQ(seen.size() - best, 3U);  // two without improvement
  EXPECT_EQ(run.trainer.best_step(), seen[best].step);
  EXPECT_EQ(run.trainer.train(), nn::StopReason::kEarlyStopped);  // and does not continue
  nn::load_trained(run.trainer.state(), run.net);
  EXPECT_EQ(nn::evaluate(run.net, run.held_out.examples(run.net), {.batch_size = 8}).loss,
            seen[best].totals.loss);
}

TEST(Trainer, TheBestMayBeThatOfTheAccuracy) {
  nn::TrainerOptions options = Trial::options();
  options.best_by = nn::BestBy::kAccuracy;
  options.evaluate_every = 2;
  Trial run(options, true);
  double best = -1;
  run.trainer.train({.evaluation = [&](const nn::EvaluationReport& report) {
    EXPECT_EQ(report.is_best, report.totals.accuracy() > best);
    best = std::max(best, report.totals.accuracy());
  }});
  EXPECT_EQ(run.trainer.state().number("best.score"), best);
}

TEST(LoadTrained, TakesTheBestThenTheAveragesThenTheLast) {
  const auto loaded = [](const nn::TrainerOptions& options, bool evaluates) {
    Trial run(options, evaluates);
    run.trainer.train();
    Net net(9);
    const nn::Checkpoint state = copy_of(run.trainer.state());
    nn::load_trained(state, net);
    run.trainer.load_best();
    EXPECT_TRUE(same_state({.tensors = nn::state_dict(run.net)}, {.tensors = nn::state_dict(net)}));
    return std::pair(net.first.weight->detach().clone(), state);
  };
  nn::TrainerOptions options = Trial::options();
  const auto [last, plain] = loaded(options, false);
  EXPECT_TRUE(same_bits(last, plain.tensors.at("model.first.weight")));
  options.ema_decay = 0.9;
  const auto [average, averaged] = loaded(options, false);
  EXPECT_TRUE(same_bits(average, averaged.tensors.at("average.first.weight")));
  EXPECT_FALSE(same_bits(average, averaged.tensors.at("model.first.weight")));
  const auto [best, evaluated] = loaded(options, true);
  EXPECT_TRUE(same_bits(best, evaluated.tensors.at("best.first.weight")));
  options.keep_best = false;
  const auto [kept, none] = loaded(options, true);
  EXPECT_TRUE(same_bits(kept, none.tensors.at("average.first.weight")));
}

TEST(Trainer, EvaluatesTheAverages) {
  nn::TrainerOptions options = Trial::options();
  options.ema_decay = 0.9;
  Trial run(options, true);
  index_t evaluations = 0;
  run.trainer.train({.evaluation = [&](const nn::EvaluationReport& report) {
    const nn::Checkpoint state = run.trainer.state();
    Net averaged(9);
    nn::load_state_dict(averaged, state.group("average").tensors);
    const nn::Examples examples = run.held_out.examples(averaged);
    EXPECT_EQ(nn::evaluate(averaged, examples, {.batch_size = 8}).loss, report.totals.loss);
    EXPECT_NE(nn::evaluate(run.net, run.held_out.examples(run.net)).loss, report.totals.loss);
    if (!report.is_best) return;
    EXPECT_TRUE(
        same_bits(state.tensors.at("best.first.weight"), state.tensors.at("average.first.weight")));
    ++evaluations;
  }});
  EXPECT_GT(evaluations, 0);
}

// ---- reports ----

TEST(Trainer, ReportsInOrder) {
  nn::TrainerOptions options = Trial::options();
  options.epochs = 2;
  options.evaluate_every = 3;
  Trial run(options, true);
  std::string log;
  nn::LossTotals sum;
  index_t length = 0;
  run.trainer.train({
      .step =
          [&](const nn::StepReport& report) {
            log += std::to_string(report.step);
            EXPECT_EQ(report.epoch, (report.step - 1) / 7);
            EXPECT_GT(report.gradient_norm, 0);
            sum.add(report.totals);
            length += report.length;
          },
      .save = [&] { log += 's'; },
      .evaluation = [&](const nn::EvaluationReport&) { log += 'v'; },
      .epoch =
          [&](const nn::EpochReport& report) {
            log += report.evaluation ? 'E' : 'e';
            EXPECT_EQ(report.totals.loss, sum.loss);
            EXPECT_EQ(report.totals.count, 40);
            EXPECT_EQ(length, 49 * 2 + 1);
            sum = {};
            length = 0;
          },
  });
  EXPECT_EQ(log, "123sv456sv7se89sv101112sv1314svE");
}

TEST(Trainer, CountsStepsInsteadOfEpochs) {
  nn::TrainerOptions options = Trial::options();
  options.steps = 10;
  Trial run(options);
  EXPECT_EQ(run.trainer.total_steps(), 10);
  EXPECT_EQ(run.trainer.steps_per_epoch(), 7);
  index_t saves = 0;
  EXPECT_EQ(run.trainer.train({.save = [&] { ++saves; }}), nn::StopReason::kFinished);
  EXPECT_EQ(run.trainer.step(), 10);
  EXPECT_EQ(run.trainer.epoch(), 1);
  EXPECT_EQ(saves, 2);
}

}  // namespace
}  // namespace tessera::test
