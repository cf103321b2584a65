// Errors of the trainer, and that a failure leaves the run unchanged.
#include "tessera/nn/training/trainer.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

TEST(TrainerErrors, OptionsOutOfRange) {
  const auto refuses = [](const std::string& word, const auto& change) {
    nn::TrainerOptions options = Trial::options();
    change(options);
    return throws("Trainer", {word}, [&] { Trial run(options); });
  };
  using O = nn::TrainerOptions;
  EXPECT_TRUE(refuses("epochs must be at least 1, got 0", [](O& o) { o.epochs = 0; }));
  EXPECT_TRUE(refuses("steps must be at least 0, got -1", [](O& o) { o.steps = -1; }));
  constexpr index_t kMost = std::numeric_limits<index_t>::max();
  EXPECT_TRUE(refuses("epochs of 7 steps", [](O& o) { o.epochs = kMost / 7 + 1; }));
  EXPECT_TRUE(refuses("at most", [](O& o) { o.steps = kMost; }));
  EXPECT_TRUE(refuses("shards must be from 1 to 1048576, got 0", [](O& o) { o.shards = 0; }));
  EXPECT_TRUE(refuses("warmup", [](O& o) { o.warmup_ratio = std::nan(""); }));
  EXPECT_TRUE(refuses("warmup", [](O& o) { o.warmup_ratio = 1.5; }));
  EXPECT_TRUE(refuses("clip", [](O& o) { o.max_grad_norm = 0; }));
  EXPECT_TRUE(refuses("average", [](O& o) { o.ema_decay = 1; }));
  EXPECT_TRUE(refuses("evaluate_every", [](O& o) { o.evaluate_every = -1; }));
  EXPECT_TRUE(refuses("patience must be at least 0", [](O& o) { o.patience = -1; }));
  EXPECT_TRUE(refuses("batch_size must be at least 1", [](O& o) { o.batch_size = 0; }));
  EXPECT_TRUE(refuses("decay must be one of its enum's values, got 3",
                      [](O& o) { o.lr_decay = static_cast<nn::LrDecay>(3); }));
  EXPECT_TRUE(refuses("best_by must be one of its enum's values, got 2",
                      [](O& o) { o.best_by = static_cast<nn::BestBy>(2); }));
  const std::string rule = "must be 0 without held-out examples, got ";
  EXPECT_TRUE(refuses(rule + "1 and 0", [](O& o) { o.patience = 1; }));
  EXPECT_TRUE(refuses(rule + "0 and 1", [](O& o) { o.evaluate_every = 1; }));
}

TEST(TrainerErrors, AnOptimizerOfOtherParameters) {
  Trial run;
  const nn::Examples examples = run.train.examples(run.net);
  Net other(2);
  nn::AdamW foreign(other);
  fails("Trainer", {"first.weight", "variables of the model only"},
        [&] { nn::Trainer(run.net, foreign, examples); });
  nn::AdamW partial(run.net.first);
  fails("Trainer",
        "got none for second.weight; exclude it from training with set_requires_grad(part, false)",
        [&] { nn::Trainer(run.net, partial, examples); });
  fails("Trainer", "must have a loss function", [&] {
    nn::Trainer(run.net, run.optimizer, {{1, 2}, {}});
  });
  fails("BatchSampler", "no examples", [&] {
    nn::Trainer(run.net, run.optimizer, {{}, examples.loss});
  });
}

// A run whose loss is wrong at step 9, and which then continues with the correct one, ends like a
// run without errors.
TEST(TrainerErrors, WhatFailsInAStepChangesNothing) {
  struct Case {
    std::function<nn::LossSum(const nn::LossSum&)> spoil;
    const char *op, *error;
  };
  const std::vector<Case> cases = {
      {[](const nn::LossSum& s) {
         return nn::LossSum{s.loss * kNaN, s.count};
       },
       "Trainer", "the loss must be finite, got nan after 8 steps, for examples "},
      {[](const nn::LossSum& s) {
         return nn::LossSum{s.loss + sqrt(s.loss * 0), s.count, s.correct};  // its slope is inf * 0
       },
       "Trainer", "the norm of the gradient must be finite, got nan after 8 steps"},
      {[](const nn::LossSum& s) { return nn::LossSum{s.loss}; }, "LossSum", "count must be"},
      {[](const nn::LossSum&) -> nn::LossSum { fail("loss", "no luck"); }, "loss", "no luck"},
      {[](const nn::LossSum& s) {
         return nn::LossSum{s.loss.expand({2}), s.count};
       },
       "LossSum", "loss must have 1 element"},
      {[](const nn::LossSum& s) {
         return nn::LossSum{s.loss.detach(), s.count};
       },
       "backward", "loss must be recorded"},
  };
  nn::TrainerOptions options = Trial::options();
  options.shards = 3;
  Trial whole(options);
  whole.trainer.train();
  for (const auto& [spoil, op, error] : cases) {
    SCOPED_TRACE(error);
    Trial run(options);
    nn::AdamW optimizer(nn::split_weight_decay(run.net), {.lr = 0.02});
    index_t calls = 0;
    nn::Examples examples = run.train.examples(run.net);
    examples.loss = [&, &spoil = spoil, right = examples.loss](std::span<const index_t> chosen) {
      const nn::LossSum loss = right(chosen);
      return ++calls == 24 ? spoil(loss) : loss;  // in step 9
    };
    nn::Trainer trainer(run.net, optimizer, examples, options);
    fails(op, {error}, [&] { trainer.train(); });
    EXPECT_EQ(trainer.step(), 8);
    EXPECT_EQ(active_recorder, nullptr);
    for (const auto& [name, tensor] : nn::parameters(run.net)) {
      EXPECT_FALSE(tensor.grad().defined()) << name;
    }
    EXPECT_EQ(trainer.train(), nn::StopReason::kFinished);
    EXPECT_TRUE(same_state(trainer.state(), whole.trainer.state()));
  }
}

TEST(TrainerErrors, ALossThatIsNotFiniteNamesItsExamples) {
  const auto expect_error = [](index_t shards, const std::string& examples) {
    Trial base;
    nn::Examples train = base.train.examples(base.net);
    train.lengths.assign(20, 1);
    train.loss = [right = train.loss](std::span<const index_t> chosen) {
      nn::LossSum sum = right(chosen);
      if (std::ranges::count(chosen, 7) > 0) sum.loss = sum.loss / 0;
      return sum;
    };
    nn::Trainer trainer(base.net, base.optimizer, train, {.batch_size = 20, .shards = shards});
    fails("Trainer",
          "the loss must be finite, got inf after 0 steps, for examples " + examples +
              "; try a smaller learning rate, or look for NaN in these examples",
          [&] { trainer.train(); });
  };
  nn::BatchSampler sampler(std::vector<index_t>(20, 1), {.batch_size = 20});
  std::string names;
  std::size_t place = 0;
  const std::span<const index_t> batch = sampler.next();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (i < 10) names += std::to_string(batch[i]) + ", ";
    if (batch[i] == 7) place = i;
  }
  expect_error(1, names + "...");
  const std::size_t even = place / 2 * 2;
  expect_error(10, str_cat(batch[even], ", ", batch[even + 1]));
}

TEST(TrainerErrors, SchedulesExcludeDecayAndWarmup) {
  const nn::Schedule one = nn::constant_schedule();
  nn::TrainerOptions options = Trial::options();
  options.schedules = {one};
  fails("Trainer",
        "schedules must be empty if decay or warmup is set, got 1; give schedules that contain the "
        "decay and the warmup",
        [&] { Trial run(options); });
  options.lr_decay = nn::LrDecay::kNone;
  fails("Trainer", "schedules must be empty", [&] { Trial run(options); });
  options.warmup_ratio = 0;
  options.schedules = {one, one, one};
  fails("LRScheduler", "schedules must be 1, or 2, one for each group, got 3",
        [&] { Trial run(options); });
}

TEST(TrainerErrors, ARateThatDiffersFromItsSchedule) {
  Trial whole;
  whole.trainer.train();
  Trial run;
  const auto error =
      "the learning rate of group 1 must be 0.01, the rate of its schedule after 2 steps, got 0.5; "
      "use the option schedules instead of set_lr(), with a function of only the step";
  fails("Trainer", error, [&] {
    run.trainer.train({.step = [&](const nn::StepReport& r) {
      if (r.step == 2) run.optimizer.set_lr(1, 0.5);
    }});
  });
  EXPECT_EQ(run.trainer.step(), 2);
  run.optimizer.set_lr(1, 0.01);
  run.trainer.train();
  EXPECT_TRUE(same_state(run.trainer.state(), whole.trainer.state()));
}

TEST(TrainerErrors, ARateThatTheLossChanges) {
  Trial run;
  nn::Examples examples = run.train.examples(run.net);
  examples.loss = [&, loss = examples.loss](std::span<const index_t> chosen) {
    run.optimizer.set_lr(0, 1e-9);
    return loss(chosen);
  };
  nn::Trainer trainer(run.net, run.optimizer, examples, Trial::options());
  const Tensor before = run.net.second.bias.detach().clone();
  fails("Trainer", "the learning rate of group 0 must be ", [&] { trainer.train(); });
  EXPECT_TRUE(same_bits(run.net.second.bias, before));
}

TEST(TrainerErrors, ACallOfRunWithinRun) {
  Trial run;
  fails("Trainer", "train() must not be called by the loss or a callback of train()",
        [&] { run.trainer.train({.step = [&](const nn::StepReport&) { run.trainer.train(); }}); });
  EXPECT_EQ(run.trainer.step(), 1);
  run.trainer.train();
}

TEST(TrainerErrors, TheBestByAnAccuracyThatNothingCounts) {
  nn::TrainerOptions options = Trial::options();
  options.best_by = nn::BestBy::kAccuracy;
  Trial run;
  nn::Examples examples = run.train.examples(run.net);
  examples.loss = [loss = examples.loss](std::span<const index_t> chosen) {
    const nn::LossSum sum = loss(chosen);
    return nn::LossSum{sum.loss, sum.count};
  };
  nn::Trainer trainer(run.net, run.optimizer, examples, options, examples);
  fails("Trainer", "best_by must be kLoss if the held-out loss counts no correct predictions",
        [&] { trainer.train(); });
}

TEST(TrainerErrors, AParameterThatIsReplacedWhileTheModelIsTrained) {
  Trial run;
  fails("Trainer", "got a different second.bias after 2 steps; change a parameter by copy_from()",
        [&] {
          run.trainer.train({.step = [&](const nn::StepReport& r) {
            if (r.step == 2) run.net.second.bias = zeros({3}).set_requires_grad();
          }});
        });
  Trial frozen;
  nn::set_requires_grad(frozen.net.first, false);
  fails("Trainer", "the model must keep its variables while it is trained, got a different first",
        [&] { frozen.trainer.train(); });
}

// The factor of the next step is computed before a step, so that no step is half done.
TEST(TrainerErrors, AScheduleWithAWrongFactor) {
  index_t wrong = 5;
  nn::TrainerOptions options = Trial::options();
  options.lr_decay = nn::LrDecay::kNone;
  options.warmup_ratio = 0;
  options.schedules = {[&](index_t step) { return step == wrong ? -1.0 : 1.0; }};
  Trial run(options);
  fails("LRScheduler", "must be finite and at least 0, got -1 after 5 steps",
        [&] { run.trainer.train(); });
  EXPECT_EQ(run.trainer.step(), 4);
  wrong = -1;
  run.trainer.train();
  Trial whole(options);
  whole.trainer.train();
  EXPECT_TRUE(same_state(run.trainer.state(), whole.trainer.state()));
}

TEST(TrainerErrors, ARunContinuesOnlyFromItsLastWeights) {
  nn::TrainerOptions options = Trial::options();
  options.ema_decay = 0.8;
  Trial run(options);
  run.trainer.train({.epoch = [&](const nn::EpochReport&) { run.trainer.stop(); }});
  const nn::Checkpoint state = copy_of(run.trainer.state());
  run.trainer.load_best();
  const std::string error = "must have its last weights, got those of load_best()";
  fails("Trainer", error, [&] { run.trainer.train(); });
  fails("Trainer", error, [&] { (void)run.trainer.state(); });
  run.trainer.load_state(state);
  fails("Trainer", error, [&] {
    run.trainer.train({.step = [&](const nn::StepReport&) { run.trainer.load_best(); }});
  });
  run.trainer.load_state(state);
  run.trainer.train();
  Trial whole(options);
  whole.trainer.train();
  EXPECT_TRUE(same_state(run.trainer.state(), whole.trainer.state()));
}

TEST(TrainerErrors, AnEvaluationThatThrowsIsMadeUpFor) {
  nn::TrainerOptions options = Trial::options();
  options.ema_decay = 0.8;
  Trial whole(options, true);
  whole.trainer.train();

  Trial run(options);
  nn::AdamW optimizer(nn::split_weight_decay(run.net), {.lr = 0.02});
  index_t calls = 0;
  nn::Examples held_out = run.held_out.examples(run.net);
  held_out.loss = [&, right = held_out.loss](std::span<const index_t> chosen) {
    if (++calls == 5) fail("loss", "no luck");  // in the second evaluation, of 3 batches
    return right(chosen);
  };
  nn::Trainer trainer(run.net, optimizer, run.train.examples(run.net), options, held_out);
  nn::Checkpoint trained;  // the weights before the evaluation
  fails("loss", "no luck", [&] {
    trainer.train({.step = [&](const nn::StepReport&) { trained = copy_of(trainer.state()); }});
  });
  EXPECT_EQ(trainer.step(), 14);
  EXPECT_TRUE(run.net.dropout.training);
  EXPECT_TRUE(same_state(trainer.state(), trained));
  std::string log;
  EXPECT_EQ(trainer.train({.step = [&](const nn::StepReport&) { log += '.'; },
                           .save = [&] { log += 's'; },
                           .evaluation = [&](const nn::EvaluationReport&) { log += 'v'; }}),
            nn::StopReason::kFinished);
  EXPECT_EQ(log, "sv.......sv");
  EXPECT_TRUE(same_state(trainer.state(), whole.trainer.state()));
}

// ---- states that do not match ----

TEST(TrainerErrors, AStateThatDoesNotFitChangesNothing) {
  nn::TrainerOptions options = Trial::options();
  options.ema_decay = 0.8;
  options.patience = 9;
  Trial done(options, true);
  done.trainer.train();
  const nn::Checkpoint good = copy_of(done.trainer.state());

  Trial run(options, true);
  run.trainer.train({.step = [&](const nn::StepReport& r) {
    if (r.step == 9) run.trainer.stop();
  }});
  const nn::Checkpoint before = copy_of(run.trainer.state());
  for (const char* const group : {"model", "optimizer", "scheduler", "average", "best"}) {
    nn::Checkpoint bad = good;
    bad.tensors[std::string(group) + ".stranger"] = zeros({1});
    EXPECT_THROW(run.trainer.load_state(bad), std::invalid_argument) << group;
    EXPECT_TRUE(same_state(run.trainer.state(), before)) << group;
  }
  nn::Checkpoint bad = good;
  bad.values["sampler.seed"] = "6";
  fails("load_state", "with seed 6", [&] { run.trainer.load_state(bad); });
  run.trainer.load_state(good);
  EXPECT_TRUE(same_state(run.trainer.state(), good));
}

TEST(TrainerErrors, StatesOfOtherRuns) {
  Trial run;
  run.trainer.train({.step = [&](const nn::StepReport& r) {
    if (r.step == 9) run.trainer.stop();
  }});
  nn::Checkpoint state = copy_of(run.trainer.state());
  state.file = "run/c";
  const auto refuses = [&](const std::string& error, const auto& change) {
    nn::TrainerOptions options = Trial::options();
    change(options);
    Trial other(options);
    EXPECT_EQ(file_error([&] { other.trainer.load_state(state); }), "run/c: " + error);
    EXPECT_EQ(other.trainer.step(), 0);
  };
  using O = nn::TrainerOptions;
  const std::string rule = " must be as at the start of the run, ";
  refuses("seed" + rule + "5, got 6", [](O& o) { o.seed = 6; });
  refuses("shards" + rule + "1, got 2", [](O& o) { o.shards = 2; });
  refuses("batch_size" + rule + "8, got 9", [](O& o) { o.batch_size = 9; });
  refuses("average" + rule + "0, got 1", [](O& o) { o.ema_decay = 0.5; });
  state.values["scheduler.step"] = "10";
  refuses(
      "the checkpoint must match the seed, batch size and data of this run, got step 10 at batch 2 "
      "of epoch 1 with seed 5",
      [](O&) {});
  state.values["scheduler.step"] = "9";
  state.values.erase("trainer.loss");
  refuses("trainer: value 'loss' is missing", [](O&) {});
}

TEST(TrainerErrors, MoreEpochsAndOtherThingsInAStateAreNoError) {
  Trial run;
  run.trainer.train();
  nn::Checkpoint state = copy_of(run.trainer.state());
  state.set("vocabulary", "a b c");
  nn::TrainerOptions options = Trial::options();
  options.epochs = 4;
  Trial longer(options);
  longer.trainer.load_state(state);
  EXPECT_EQ(longer.trainer.train(), nn::StopReason::kFinished);
  EXPECT_EQ(longer.trainer.step(), 28);
}

}  // namespace
}  // namespace tessera::test
