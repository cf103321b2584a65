#include "bench/scaling/step_time.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera::bench {

namespace {

constexpr double kElement = 4;  // bytes

/// Seconds in which a link carries so many bytes.
double carried(double bytes, const Link& link) {
  return link.bandwidth > 0 ? bytes / link.bandwidth : 0;
}

/// What a core does for so many messages, in and out.
double handled(index_t messages, double bytes, const Link& link) {
  return static_cast<double>(messages) * link.overhead + bytes * link.copy;
}

/// Seconds from the backward's begin until the last gradient has arrived: each stage is sent when it
/// is complete and the link is free.
double gradients_arrive(double bytes, double backward, const Link& link,
                        const std::vector<Stage>& stages) {
  double free = 0;
  for (const Stage& stage : stages) {
    free = std::max(free, stage.time * backward) + carried(stage.gradients * bytes, link);
  }
  return free + link.latency;
}

double exchange_time(const Traffic& t, const Host& host, const Link& link,
                     const std::vector<Stage>& stages) {
  if (t.processes == 1) return 0;
  const auto bytes = [](index_t elements) { return kElement * static_cast<double>(elements); };
  const double gradients = bytes(std::max(t.gradients_out, t.gradients_in));
  const double weights = bytes(std::max(t.weights_out, t.weights_in));
  const double exposed = gradients_arrive(gradients, host.backward, link, stages) - host.backward;
  const double all_gradients = bytes(t.gradients_out + t.gradients_in);
  const double all_weights = bytes(t.weights_out + t.weights_in);
  constexpr double kGathers = 3 * 2;  // three all_gathers, each of lengths and of texts
  return std::max(exposed, handled(t.gradient_messages, all_gradients, link)) +
         std::max(link.latency + carried(weights, link),
                  handled(t.weight_messages, all_weights, link)) +
         kGathers * static_cast<double>(rounds_of(t.processes)) *
             (link.latency + 2 * link.overhead) +
         carried(static_cast<double>(t.gathered), link);
}

}  // namespace

std::vector<Stage> stages_of(index_t layers, double first) {
  std::vector<Stage> stages;
  const auto count = static_cast<double>(layers);
  for (index_t i = 1; i <= layers; ++i) {
    stages.push_back({(1 - first) / count, static_cast<double>(i) / count});
  }
  if (first > 0) stages.push_back({first, 1});
  return stages;
}

StepTime step_time(const Traffic& t, const Host& host, const Link& link,
                   const std::vector<Stage>& stages) {
  const auto processes = static_cast<double>(t.processes);
  const auto shards = static_cast<double>(t.shards);
  const auto most_shards = static_cast<double>(t.most_shards);
  const auto n = static_cast<double>(t.parameters);
  const double shard = host.forward + host.backward;
  const double additions = (shards - 1) * n;

  StepTime time;
  time.compute = (shards * shard + additions * host.addition + host.update) / processes;
  time.imbalance = (most_shards - shards / processes) * shard +
                   (static_cast<double>(t.additions) - additions / processes) * host.addition +
                   (static_cast<double>(t.most_owned) / n - 1 / processes) * host.update +
                   host.spread * shard * std::sqrt(most_shards) * largest_of_normals(t.processes);
  time.exchange = exchange_time(t, host, link, stages);
  return time;
}

index_t rounds_of(index_t processes) {
  index_t rounds = 0;
  while ((index_t{1} << rounds) < processes) ++rounds;
  return rounds;
}

double largest_of_normals(index_t count) {
  constexpr double kStep = 1.0 / 64;
  constexpr int kSteps = 9 * 64;  // beyond 9 deviations nothing is left, for any count here
  double mean = 0;
  for (int i = -kSteps; i < kSteps; ++i) {
    const double x = (i + 0.5) * kStep;
    const double below = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double all_below = std::pow(below, static_cast<double>(count));
    mean += kStep * (x > 0 ? 1 - all_below : -all_below);
  }
  return mean;
}

}  // namespace tessera::bench
