// Several processes train one model with the bits of one. They are threads here.
#include <ios>

#include "tessera/models/encoder.h"
#include "tessera/nn/nn.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/support.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::nn {
namespace {

using namespace test;

using Chosen = std::span<const index_t>;

struct Course {
  std::string name;
  index_t examples;
  TrainerOptions options;
  bool uses_sgd = false;
  bool checkpoints = false;  // of gradients
};

/// The reports of a run, and its whole state at the end.
struct Outcome {
  std::string log;
  Checkpoint state;
};

void expect_same(const std::vector<Outcome>& outcomes, const Outcome& want) {
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.log, want.log);
    EXPECT_TRUE(same_state(outcome.state, want.state));
  }
}

/// Predicts hidden tokens of sequences of several lengths. Some examples have no target; the table
/// is also the last layer's weight; `rare` has a gradient only for some examples, and `spare`
/// never.
struct TokenNet {
  static constexpr index_t kTokens = 5, kVocabulary = 11, kWidth = 8;

  Embedding table;
  models::Encoder encoder;
  Linear rare, spare;

  explicit TokenNet(const Course& course) : TokenNet(course, Rng(3)) {}
  TokenNet(const Course& course, Rng rng)
      : table(kVocabulary, kWidth, rng),
        encoder({.layers = models::repeat_layer({.d_model = kWidth,
                                                 .nhead = 2,
                                                 .dim_feedforward = 12,
                                                 .norm_first = true,
                                                 .gradient_checkpoint = course.checkpoints},
                                                2),
                 .final_norm = true},
                rng),
        rare(kWidth, kWidth, rng),
        spare(kWidth, kWidth, rng) {}

  static index_t length_of(index_t example) { return 1 + example * 7 % kTokens; }

  LossSum loss(Chosen chosen) const {
    std::vector<index_t> ids, targets, lengths;
    for (const index_t i : chosen) {
      lengths.push_back(length_of(i));
      for (index_t t = 0; t < kTokens; ++t) {
        ids.push_back((i * 3 + t * 5) % kVocabulary);
        targets.push_back(t < length_of(i) && t < i % 4 ? (i * 3 + t) % kVocabulary : -100);
      }
    }
    const auto rows = std::ssize(chosen);
    const Tensor x = table(from_vector(ids).reshape({rows, kTokens}));
    Tensor y = encoder(x, length_mask(from_vector(lengths)));
    if (std::ranges::any_of(chosen, [](index_t i) { return i % 6 == 5; })) y = y + rare(y);
    const Tensor scores = matmul(y, table.weight->transpose(0, 1));
    return summed_cross_entropy(scores.reshape({rows * kTokens, kVocabulary}),
                                from_vector(targets));
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("encoder", self.encoder);
    visitor("rare", self.rare);
    visitor("spare", self.spare);
  }
};

TrainerCallbacks writing_to(std::string& log) {
  return {.step =
              [&log](const StepReport& report) {
                const LossTotals& totals = report.totals;
                log +=
                    str_cat(std::hexfloat, report.step, ": ", totals.loss, " ", totals.count, " ",
                            totals.correct, " ", report.gradient_norm, " ", report.lr, "\n");
              },
          .evaluation =
              [&log](const EvaluationReport& report) {
                log += str_cat(std::hexfloat, "held out: ", report.totals.loss, " ",
                               report.totals.count, report.is_best ? " best\n" : "\n");
              }};
}

Examples examples_of(const TokenNet& net, index_t first, index_t count) {
  std::vector<index_t> lengths;
  for (index_t i = 0; i < count; ++i) lengths.push_back(TokenNet::length_of(first + i));
  return {lengths, [&net, first](Chosen chosen) {
            std::vector<index_t> shifted(chosen.begin(), chosen.end());
            for (index_t& i : shifted) i += first;
            return net.loss(shifted);
          }};
}

Outcome train(const Course& course, Communicator* processes) {
  TokenNet net(course);
  set_requires_grad(net);
  std::optional<AdamW> adam;
  std::optional<SGD> sgd;
  if (course.uses_sgd) sgd.emplace(parameters(net), SGDOptions{.lr = 0.05, .momentum = 0.9});
  if (!course.uses_sgd) adam.emplace(split_weight_decay(net), AdamWOptions{.lr = 0.02});
  TrainerOptions options = course.options;
  options.communicator = processes;
  const bool evaluates = options.evaluate_every > 0;
  Trainer trainer(net, sgd ? static_cast<Optimizer&>(*sgd) : *adam,
                  examples_of(net, 0, course.examples), options,
                  evaluates ? examples_of(net, 100, 13) : Examples());
  Outcome outcome;
  const StopReason end = trainer.train(writing_to(outcome.log));
  outcome.log += str_cat("end ", static_cast<int>(end), " in step ", trainer.step());
  outcome.state = copy_of(trainer.state());
  return outcome;
}

void expect_one_digest(const Course& course, const std::vector<index_t>& sizes,
                       const std::vector<int>& threads_of_each) {
  SCOPED_TRACE(course.name);
  const Outcome want = train(course, nullptr);
  EXPECT_TRUE(contains(want.log, "end"));
  for (const index_t size : sizes) {
    for (const int threads : threads_of_each) {
      SCOPED_TRACE(str_cat(size, " processes of ", threads, " threads"));
      const auto run = [&](Communicator& processes) { return train(course, &processes); };
      expect_same(each_of(size, run, threads), want);
    }
  }
}

/// 19 examples in batches of 8: the last one has 3, fewer than shards.
const std::vector<Course>& courses() {
  static const std::vector<Course> all = {
      {.name = "AdamW, clipping, decay",
       .examples = 19,
       .options = {.epochs = 2,
                   .batch_size = 8,
                   .shards = 7,
                   .seed = 5,
                   .lr_decay = LrDecay::kLinear,
                   .warmup_ratio = 0.2,
                   .max_grad_norm = 0.1}},
      {.name = "SGD, averages, checkpoints of gradients, evaluations",
       .examples = 19,
       .options = {.epochs = 2,
                   .batch_size = 8,
                   .shards = 8,
                   .seed = 6,
                   .schedules = {inverse_sqrt_schedule(2)},
                   .ema_decay = 0.7,
                   .evaluate_every = 2},
       .uses_sgd = true,
       .checkpoints = true},
      {.name = "AdamW, patience, more shards than examples",
       .examples = 19,
       .options = {.epochs = 20,
                   .batch_size = 8,
                   .shards = 11,
                   .seed = 7,
                   .ema_decay = 0.1,
                   .evaluate_every = 1,
                   .patience = 2,
                   .best_by = BestBy::kAccuracy},
       .checkpoints = true},
  };
  return all;
}

using ProcessesBitsTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ProcessesBitsTest, test::each_isa(), test::isa_name);

TEST_P(ProcessesBitsTest, OneDigestOverProcessesAndThreads) {
  const std::vector<index_t> sizes = {1, 2, 3, 5, 7};
  expect_one_digest(courses()[0], sizes, {1, 2});
  expect_one_digest(courses()[1], sizes, {1});
  expect_one_digest(courses()[2], sizes, {2});
}

TEST(Processes, GiveTheBitsOfOne) {
  expect_one_digest(courses()[1], {3}, {1});
  EXPECT_TRUE(contains(train(courses()[2], nullptr).log, "end 1")) << "patience must end it";
}

// ---- stopping and resuming ----

TrainerOptions sharded(Communicator* processes) {
  TrainerOptions options = Trial::options();
  options.shards = 5;
  options.ema_decay = 0.8;
  options.communicator = processes;
  return options;
}

/// A run by `size` processes from `from` on, if it has tensors; rank `stopper` stops it after
/// `stop`.
std::vector<Outcome> run_until(index_t size, const Checkpoint& from, index_t stop = 0,
                               index_t stopper = 0) {
  return each_of(size, [&](Communicator& processes) {
    Trial run(sharded(&processes), true);
    if (!from.tensors.empty()) run.trainer.load_state(from);
    const auto on_step = [&](const StepReport& report) {
      if (report.step == stop && processes.rank() == stopper) run.trainer.stop();
    };
    const StopReason end = run.trainer.train({.step = on_step});
    return Outcome{str_cat(static_cast<int>(end), " ", run.trainer.step()),
                   copy_of(run.trainer.state())};
  });
}

TEST(Processes, AnotherNumberOfThemResumesToTheSameBits) {
  const Outcome want = run_until(1, {})[0];
  const auto stopped = str_cat(static_cast<int>(StopReason::kStopped), " ");
  Checkpoint state;
  index_t step = 0;
  for (const index_t size : {3, 1, 2, 5}) {
    step += 4;
    const std::vector<Outcome> outcomes = run_until(size, state, step, size - 1);
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.log, stopped + std::to_string(step));
    state = outcomes.back().state;
  }
  expect_same(run_until(4, state), want);
}

TEST(Processes, AllStopAfterTheSameStepWhereOneIsAskedBetweenSteps) {
  // From the save hook, which comes after the first check.
  const std::vector<std::string> ends = each_of(3, [](Communicator& processes) {
    Trial run(sharded(&processes));
    std::string saved;
    const StopReason end = run.trainer.train({.save = [&] {
      saved += str_cat(run.trainer.step(), " ");
      if (processes.rank() == 1) run.trainer.stop();
    }});
    return str_cat(saved, static_cast<int>(end));
  });
  for (const std::string& end : ends) EXPECT_EQ(end, "7 2");
}

// ---- errors ----

TEST(Processes, AreNoMoreThanShards) {
  run_processes(6, [](Communicator& processes) {
    EXPECT_TRUE(throws("Trainer", {"as many as shards, 5, got 6", "6 or more shards"},
                       [&] { Trial run(sharded(&processes)); }));
  });
}

TEST(Processes, OneSendsNothing) {
  OneProcess one;
  const Trial run(sharded(&one));
  EXPECT_EQ(run.trainer.options().communicator, nullptr);
}

TEST(Processes, AnErrorInOneEndsTheWaitsOfTheOthers) {
  EXPECT_THROW(run_processes(3,
                             [](Communicator& processes) {
                               Trial run(sharded(&processes));
                               run.trainer.train({.step = [&](const StepReport& report) {
                                 const bool fails = report.step == 4 && processes.rank() == 1;
                                 if (fails) throw std::length_error("hook");
                                 EXPECT_LE(report.step, 4);
                               }});
                             }),
               std::length_error);
}

/// A difference of rank 1, in its options, or after its trainer is made; and its name in the error.
struct Difference {
  std::string name;
  std::function<void(TrainerOptions&)> options = {};
  std::function<void(Trial&)> change = {};
};

TEST(Processes, ThatDifferAreRefusedBeforeTheFirstStep) {
  const std::vector<Difference> differences = {
      {"seed", [](TrainerOptions& o) { o.seed = 6; }},
      {"batch_size", [](TrainerOptions& o) { o.batch_size = 9; }},
      {"shards", [](TrainerOptions& o) { o.shards = 6; }},
      {"steps", [](TrainerOptions& o) { o.steps = 100; }},
      {"decay", [](TrainerOptions& o) { o.lr_decay = LrDecay::kCosine; }},
      {"warmup", [](TrainerOptions& o) { o.warmup_ratio += 1e-9; }},  // the steps are the same
      {"clip", [](TrainerOptions& o) { o.max_grad_norm *= 1 + 1e-15; }},
      {"average", [](TrainerOptions& o) { o.ema_decay = 0; }},
      {"evaluate_every", [](TrainerOptions& o) { o.evaluate_every = 2; }},
      {"patience", [](TrainerOptions& o) { o.patience = 2; }},
      {"best_by", [](TrainerOptions& o) { o.best_by = BestBy::kAccuracy; }},
      {"keep_best", [](TrainerOptions& o) { o.keep_best = false; }},
      {"model.second.bias",
       {},
       [](Trial& run) { run.net.second.bias.detach().slice(0, 0, 1).fill(3); }},
      {"optimizer.group.0.lr", {}, [](Trial& run) { run.optimizer.set_lr(0.5); }},
  };
  for (const Difference& difference : differences) {
    SCOPED_TRACE(difference.name);
    run_processes(3, [&](Communicator& processes) {
      TrainerOptions options = sharded(&processes);
      const bool differs = processes.rank() == 1;
      if (differs && difference.options) difference.options(options);
      Trial run(options, true);
      if (differs && difference.change) difference.change(run);
      EXPECT_TRUE(
          throws("Trainer", {difference.name + " must be the same on all ranks", "on rank 1"}, [&] {
            run.trainer.train(
                {.step = [](const StepReport&) { ADD_FAILURE() << "a step was made"; }});
          }));
    });
  }
}

TEST(Processes, ThatHaveDifferentSchedulesAreRefused) {
  run_processes(2, [&](Communicator& processes) {
    TrainerOptions options = sharded(&processes);
    options.lr_decay = LrDecay::kNone;
    options.warmup_ratio = 0;
    options.schedules = {step_schedule(5, processes.rank() == 1 ? 0.5 : 0.25)};
    Trial run(options);
    EXPECT_TRUE(throws("Trainer",
                       {"Trainer: rates now and at the end must be the same on all ranks"},
                       [&] { run.trainer.train(); }));
  });
}

TEST(Processes, ThatHaveOtherExamplesAreRefused) {
  for (const bool by_digest : {false, true}) {
    run_processes(2, [&](Communicator& processes) {
      test::Net net;
      const test::Points points(50, 3);
      AdamW optimizer(split_weight_decay(net), {.lr = 0.02});
      Examples examples = points.examples(net);
      if (processes.rank() == 1 && by_digest) examples.digest += 1;
      if (processes.rank() == 1 && !by_digest) examples.lengths[30] += 1;
      Trainer trainer(net, optimizer, examples, sharded(&processes));
      const char* const name = by_digest ? "digest of the examples" : "lengths";
      EXPECT_TRUE(throws("Trainer", {str_cat("Trainer: ", name, " must be the same"), "on rank 1"},
                         [&] { trainer.train(); }));
    });
  }
}

}  // namespace
}  // namespace tessera::nn
