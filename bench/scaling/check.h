// The model against real steps: the trainer's, on the processes that run this program.
#pragma once

#include <string>
#include <vector>

#include "bench/scaling/learner.h"
#include "bench/scaling/step_time.h"
#include "nn/training/communicator.h"

namespace tessera::bench {

/// What is checked: a task in so many shards, on so many threads a process.
struct CheckOptions {
  Task task;
  index_t shards = 1;
  index_t threads = 1;
  double seconds = 2;  // of steps, for each link
};

/// Real steps compared with the model's.
struct Check {
  Link link;
  StepTime model;
  double measured = 0;   // seconds of a step, the median
  index_t sent = 0;      // bytes by the busiest process in a step, as the communicator counts them
  index_t expected = 0;  // the same by the model
};

/// Trains for some steps through each of these links, whose latency and bandwidth are those of a
/// DelayedCommunicator; overhead and copy must be the processes' own (measure_link). The parts of a step are measured by all
/// processes at the same time, so that they share the machine as in the steps. All processes call it.
/// **Errors**: as Trainer.
std::vector<Check> check_model(const CheckOptions& options, nn::Communicator& processes,
                               const std::vector<Link>& links);

/// The checks as a table in Markdown.
std::string markdown(const std::vector<Check>& checks);

}  // namespace tessera::bench
