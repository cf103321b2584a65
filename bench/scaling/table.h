// The model's predictions as a table.
#pragma once

#include <string>
#include <vector>

#include "bench/scaling/step_time.h"

namespace tessera::bench {

/// What a table is made of.
struct Plan {
  std::vector<index_t> counts;  // elements of each parameter
  std::vector<Stage> stages;
  Host host;
  Link link;                       // its bandwidth is not read
  std::vector<double> bandwidths;  // Gbit/s
  std::vector<index_t> hosts;
  index_t batch = 1;   // examples of a shard
  index_t shards = 0;  // of a batch; 0: as many as hosts
};

/// One number of hosts with one bandwidth.
struct Prediction {
  index_t hosts;
  double gbit;
  StepTime step;
  double examples_s;
  double efficiency;  // examples per second and host, over those of a single host
};

/// Of each bandwidth, for each number of hosts that has a shard for each.
std::vector<Prediction> predictions_of(const Plan& plan);

/// A table for people, in Markdown, a row for each number of hosts; then, for each bandwidth, where
/// more hosts stop paying.
std::string markdown(const Plan& plan);
/// A line for each prediction, times in seconds.
std::string csv(const Plan& plan);

}  // namespace tessera::bench
