// Processes that train together fail together, and continue together. They are threads here.
#include "nn/nn.h"
#include "tests/nn/training/processes_run.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/test.h"
#include "tests/support/thread_communicator.h"

namespace tessera::nn {
namespace {

using namespace test;

using Chosen = std::span<const index_t>;

/// Checks that f throws, in each of `size` processes, an exception whose text has each of `parts`.
template <class F>
void expect_error(index_t size, const std::vector<std::string>& parts, const F& f) {
  const std::vector<std::string> errors =
      each_of(size, [&](Communicator& processes) -> std::string {
        try {
          f(processes);
        } catch (const ProcessLost&) {
          throw;
        } catch (const std::exception& error) {
          return error.what();
        }
        return "nothing was thrown";
      });
  for (const std::string& error : errors) {
    for (const std::string& part : parts) EXPECT_TRUE(contains(error, part));
  }
}

/// An error at one rank, in a shard of one step or in the evaluation after it.
struct Fault {
  std::string name;
  bool in_evaluation;
  std::function<LossSum(const LossSum&)> of;
  std::string error;
};

TEST(ProcessesErrors, OnesErrorIsThrownByAllAndChangesNothing) {
  const Outcome want = run_until(1, {})[0];
  const auto thrower = [](const LossSum&) -> LossSum { throw std::out_of_range("no such file"); };
  const auto mute = [](const LossSum&) -> LossSum { throw std::out_of_range(""); };
  const auto stranger = [](const LossSum&) -> LossSum { throw 5; };
  const auto infinite = [](LossSum sum) {
    sum.loss = sum.loss * std::numeric_limits<double>::infinity();
    return sum;
  };
  // A correct loss with a wrong gradient.
  const auto steep = [](LossSum sum) {
    sum.loss = sum.loss + sqrt(sum.loss - sum.loss);
    return sum;
  };
  const std::vector<Fault> faults = {
      {"an exception", false, thrower, "rank 2: no such file"},
      {"an exception without a text", false, mute, "rank 2: the loss function threw an exception"},
      {"no std::exception", false, stranger,
       "rank 2: the loss function threw an exception that is not"},
      {"a loss", false, infinite,
       "rank 2: Trainer: the loss must be finite, got inf after 9 steps"},
      {"a gradient", false, steep,
       "Trainer: the norm of the gradient must be finite, got nan after 9 steps"},
      {"an exception in an evaluation", true, thrower, "rank 2: no such file"},
      {"no std::exception in an evaluation", true, stranger,
       "rank 2: an exception was thrown that is not"},
  };
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.name);
    std::vector<std::string> errors(3);
    std::vector<Outcome> before(3);
    const std::vector<Outcome> outcomes = each_of(3, [&](Communicator& processes) {
      const auto rank = static_cast<std::size_t>(processes.rank());
      test::Net net;
      const test::Points train(50, 3), held_out(20, 4);
      AdamW optimizer(split_weight_decay(net), {.lr = 0.02});
      bool is_due = false;
      const auto faulty = [&](const test::Points& points, bool is_held_out) {
        Examples examples = points.examples(net);
        examples.loss = [&, is_held_out, loss = examples.loss](Chosen chosen) {
          const LossSum sum = loss(chosen);
          if (!is_due || rank != 2 || is_held_out != fault.in_evaluation) return sum;
          is_due = false;
          return fault.of(sum);
        };
        return examples;
      };
      Trainer trainer(net, optimizer, faulty(train, false), sharded(&processes),
                      faulty(held_out, true));
      const auto on_step = [&](const StepReport& report) {
        if (report.step != (fault.in_evaluation ? 14 : 9)) return;
        is_due = true;
        before[rank].state = copy_of(trainer.state());
      };
      try {
        trainer.run({.step = on_step});
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
      EXPECT_TRUE(same_state(trainer.state(), before[rank].state));
      for (const auto& [name, tensor] : parameters(net)) EXPECT_FALSE(tensor.grad().defined());
      const RunEnd end = trainer.run();
      return Outcome{str_cat(static_cast<int>(end), " ", trainer.step()), copy_of(trainer.state())};
    });
    for (const std::string& error : errors) {
      EXPECT_TRUE(error.starts_with(fault.error)) << error;
      EXPECT_EQ(error, errors[0]);
    }
    expect_same(outcomes, want);
  }
}

TEST(ProcessesErrors, AreNoMoreThanShards) {
  expect_error(6, {"as many as shards, 5, got 6", "6 or more shards"},
               [](Communicator& processes) { Trial run(sharded(&processes)); });
}

TEST(ProcessesErrors, AnOptimizerOfChunksTrainsNothingAlone) {
  expect_error(2, {"the optimiser must hold variables of the model only, got first."},
               [](Communicator& processes) {
                 Trial run(sharded(&processes));
                 Trainer alone(run.net, run.optimizer, run.train.examples(run.net),
                               sharded(nullptr));
               });
}

TEST(ProcessesErrors, AModelThatWasConvertedLearnsNothing) {
  expect_error(2, {"rank 0: AdamW: first.weight must not be converted"},
               [](Communicator& processes) {
                 Trial run(sharded(&processes));
                 convert(run.net, kFloat64);
                 run.trainer.run();
               });
}

/// The difference of rank 1, before or after its trainer is made.
struct Difference {
  std::string name;  // in the error
  std::function<void(TrainerOptions&)> options = {};
  std::function<void(Trial&)> change = {};
};

TEST(ProcessesErrors, ThatDisagreeAreRefusedByName) {
  const std::vector<Difference> differences = {
      {"seed", [](TrainerOptions& o) { o.seed = 6; }},
      {"batch_size", [](TrainerOptions& o) { o.batch_size = 9; }},
      {"shards", [](TrainerOptions& o) { o.shards = 6; }},
      {"steps in all", [](TrainerOptions& o) { o.steps = 100; }},
      {"decay", [](TrainerOptions& o) { o.decay = Schedule::Decay::kCosine; }},
      {"warmup", [](TrainerOptions& o) { o.warmup = 0.3; }},
      {"clip", [](TrainerOptions& o) { o.clip = 1; }},
      {"average's decay", [](TrainerOptions& o) { o.average = 0.9; }},
      {"evaluate_every", [](TrainerOptions& o) { o.evaluate_every = 2; }},
      {"patience", [](TrainerOptions& o) { o.patience = 2; }},
      {"best_by", [](TrainerOptions& o) { o.best_by = BestBy::kAccuracy; }},
      {"keep_best", [](TrainerOptions& o) { o.keep_best = false; }},
      {"model.digest", {}, [](Trial& run) { run.net.second.bias.detach().slice(0, 0, 1).fill(3); }},
      {"lr", {}, [](Trial& run) { run.optimizer.set_lr(0.5); }},
  };
  for (const Difference& difference : differences) {
    SCOPED_TRACE(difference.name);
    const std::string error = difference.name + " must be the same on all ranks";
    expect_error(3, {"Trainer: ", error, "on rank 1"}, [&](Communicator& processes) {
      TrainerOptions options = sharded(&processes);
      const bool differs = processes.rank() == 1;
      if (differs && difference.options) difference.options(options);
      Trial run(options, true);
      if (differs && difference.change) difference.change(run);
      run.trainer.run({.step = [](const StepReport&) { ADD_FAILURE() << "a step was made"; }});
    });
  }
}

TEST(ProcessesErrors, ThatHaveOtherExamplesAreRefused) {
  const std::vector<std::string> parts = {"digest of the examples' lengths"};
  expect_error(2, parts, [](Communicator& processes) {
    test::Net net;
    const test::Points points(50, 3);
    AdamW optimizer(split_weight_decay(net), {.lr = 0.02});
    Examples examples = points.examples(net);
    if (processes.rank() == 1) examples.lengths[30] += 1;
    Trainer trainer(net, optimizer, examples, sharded(&processes));
    trainer.run();
  });
  expect_error(2, parts, [](Communicator& processes) {
    test::Net net;
    const test::Points points(processes.rank() == 0 ? 50 : 30, 3);
    evaluate(processes, net, points.examples(net), {.batch_size = 10});
  });
}

TEST(ProcessesErrors, ThatGoOnFromOtherStatesAreRefused) {
  const Checkpoint state = run_until(1, {}, 9)[0].state;
  const auto fill = [](Checkpoint& changed, const std::string& name) {
    changed.tensors.at(name) = changed.tensors.at(name).clone().fill(3);
  };
  const std::vector<std::pair<std::string, std::function<void(Checkpoint&)>>> changes = {
      {"state of best", [](Checkpoint& changed) { changed.set("best.in_vain", 1); }},
      {"best.digest", [&](Checkpoint& changed) { fill(changed, "best.first.bias"); }},
      {"average.digest", [&](Checkpoint& changed) { fill(changed, "average.first.bias"); }},
      {"state of trainer", [](Checkpoint& changed) { changed.set("trainer.evaluated", 8); }},
  };
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    Checkpoint other = copy_of(state);
    change(other);
    const std::string error = "Trainer: " + name + " must be the same on all ranks";
    expect_error(2, {error}, [&](Communicator& processes) {
      Trial run(sharded(&processes), true);
      run.trainer.load_state(processes.rank() == 0 ? state : other);
      run.trainer.run();
    });
  }
}

TEST(ProcessesErrors, ThatEndAreNamedWithTheStep) {
  for (const index_t last : {4, 21}) {
    std::vector<std::string> errors(3);
    const auto run = [&](Communicator& processes) {
      Trial trial(sharded(&processes));
      try {
        trial.trainer.run({.step = [&](const StepReport& report) {
          if (report.step == last && processes.rank() == 1) throw std::length_error("hook");
        }});
      } catch (const ProcessLost& lost) {
        errors[static_cast<std::size_t>(processes.rank())] = lost.what();
        throw;
      }
    };
    EXPECT_THROW(run_processes(3, run), std::length_error);
    EXPECT_EQ(errors[1], "");
    for (const std::size_t rank : {0U, 2U}) {
      EXPECT_TRUE(contains(errors[rank], "process "));
      const std::string where =
          str_cat("the run ends in step ", last == 21 ? 21 : last + 1, " of 21");
      EXPECT_TRUE(contains(errors[rank], where));
    }
  }
}

}  // namespace
}  // namespace tessera::nn
