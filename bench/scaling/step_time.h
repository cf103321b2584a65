// A model of a step's time on P processes, one a host:
//
//   t(P) = compute / P + imbalance + exchange
//
// bench/scaling.md derives the terms.
#pragma once

#include <vector>

#include "bench/scaling/traffic.h"

namespace tessera::bench {

/// What a host needs for its part of the work, in seconds.
struct Host {
  double forward = 0, backward = 0;  // of a shard
  double update = 0;                 // the norm and the optimiser's step, of all parameters
  double addition = 0;               // of an element to another, among many
  double spread = 0;                 // standard deviation of a shard's time, over its mean
};

/// What connects the hosts: a full-duplex link each, into a network that carries all of them at once.
struct Link {
  double latency = 0;    // seconds from the send of a short message to its arrival
  double bandwidth = 0;  // bytes a second, each way; 0: no limit
  double overhead = 0;   // seconds of a core for each message sent or received
  double copy = 0;       // seconds of a core for each byte sent or received
};

/// When gradients are there to be sent: a part of them, at a part of the backward's time.
struct Stage {
  double gradients;  // the part of all elements
  double time;       // the part of the backward after which they are complete
};

/// L layers of equal size, whose gradients come one after another, and `first`, a part of all
/// elements that is complete at the backward's end: an embedding.
std::vector<Stage> stages_of(index_t layers, double first = 0);

/// A step's time by terms, in seconds.
struct StepTime {
  double compute = 0;    // the work of all, over P
  double imbalance = 0;  // what the slowest process computes more than the mean
  double exchange = 0;   // gradients, as far as no backward hides them, weights and gathers

  double total() const { return compute + imbalance + exchange; }
};

StepTime step_time(const Traffic& traffic, const Host& host, const Link& link,
                   const std::vector<Stage>& stages);

/// ceil(log2 P): the rounds of messages in which each of P processes can hear of all others.
index_t rounds_of(index_t processes);

/// The mean of the largest of `count` independent normal variables of mean 0 and deviation 1.
/// **Source**: David and Nagaraja, "Order Statistics" (2003), section 3.1; the integral of
/// 1 - F(x)^n above 0, less that of F(x)^n below.
double largest_of_normals(index_t count);

}  // namespace tessera::bench
