// Estimates the time of a step of data-parallel training on P hosts, from the parts of a step on
// one. bench/scaling.md derives the formula.
#pragma once

#include <span>

#include "tensor/kernels/types.h"

namespace tessera::bench {

/// The times of one host's work, in seconds.
struct Work {
  double forward = 0, backward = 0;  // of a shard
  double update = 0;                 // the norm and the optimiser's step, of all parameters
  double addition = 0;               // of an element to a sum, over many elements
};

/// The network between the hosts: a full-duplex link per host, at full speed on all links at once.
/// **Source**: the model LogGP (Alexandrov et al., 1995).
struct Link {
  double latency = 0;      // seconds from the send of a short message to its arrival
  double bandwidth = 0;    // bytes per second, each way; 0: no limit
  double overhead = 4e-6;  // seconds of a core per message sent or received
  double copy = 0.3e-9;    // seconds of a core per byte sent or received
};

/// The elements that P hosts exchange if each computes a shard: N parameters, divided into chunks
/// that are each owned by one host. `owned` and `owned_chunks` are the largest numbers of any host.
struct Traffic {
  index_t hosts = 1;
  index_t parameters = 0, chunks = 0;
  index_t owned = 0, owned_chunks = 0;

  /// Elements that the busiest host sends in a step: gradients of the chunks of others, and the new
  /// weights of its own chunks to all others. It receives the same number.
  index_t sent() const { return parameters - owned + (hosts - 1) * owned; }
};

/// The traffic for parameters with `counts` elements each. **Errors**: no parameters, no hosts.
Traffic traffic_of(std::span<const index_t> counts, index_t hosts);

/// A step's time by terms, in seconds.
struct StepTime {
  double work = 0;      // of the busiest host
  double exchange = 0;  // gradients, except the time hidden by the backward; weights and gathers

  double total() const { return work + exchange; }
};

/// The backward has `layers` parts of equal size, whose gradients arrive one after the other.
StepTime step_time(const Traffic& traffic, const Work& work, const Link& link, index_t layers);

}  // namespace tessera::bench
