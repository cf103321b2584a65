// Runs of a trainer by several processes, for their tests.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensor/error.h"
#include "tests/nn/training/training_net.h"
#include "tests/support/thread_communicator.h"

namespace tessera::test {

/// The reports of a run, and its whole state at the end.
struct Outcome {
  std::string log;
  nn::Checkpoint state;
};

/// Rank 0 has the whole state, the others all except the optimiser's tensors.
inline void expect_same(const std::vector<Outcome>& outcomes, const Outcome& want) {
  EXPECT_TRUE(same_state(outcomes[0].state, want.state));
  EXPECT_EQ(outcomes[0].log, want.log);
  for (const Outcome& outcome : std::span(outcomes).subspan(1)) {
    EXPECT_EQ(outcome.log, want.log);
    EXPECT_EQ(outcome.state.values, want.state.values);
    for (const auto& [name, tensor] : outcome.state.tensors) {
      EXPECT_TRUE(same_bits(tensor, want.state.tensors.at(name))) << name;
    }
  }
}

inline nn::TrainerOptions sharded(nn::Communicator* processes) {
  nn::TrainerOptions options = Trial::options();
  options.shards = 5;
  options.average = 0.8;
  options.communicator = processes;
  return options;
}

/// A run by `size` processes from `from` on, if it has tensors; rank `stopper` stops it after
/// `stop`.
inline std::vector<Outcome> run_until(index_t size, const nn::Checkpoint& from, index_t stop = 0,
                                      index_t stopper = 0) {
  return each_of(size, [&](nn::Communicator& processes) {
    Trial run(sharded(&processes), true);
    if (!from.tensors.empty()) run.trainer.load_state(from);
    const auto on_step = [&](const nn::StepReport& report) {
      if (report.step == stop && processes.rank() == stopper) run.trainer.stop();
    };
    const nn::RunEnd end = run.trainer.run({.step = on_step});
    return Outcome{str_cat(static_cast<int>(end), " ", run.trainer.step()),
                   copy_of(run.trainer.state())};
  });
}

}  // namespace tessera::test
