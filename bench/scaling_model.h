// How long a step of data-parallel training takes on P hosts, from the parts of a step on one.
// bench/scaling.md derives the formula.
#pragma once

#include <span>

#include "tensor/kernels/types.h"

namespace tessera::bench {

/// What one host needs for its work, in seconds.
struct Work {
  double forward = 0, backward = 0;  // of a shard
  double update = 0;                 // the norm and the optimiser's step, of all parameters
  double addition = 0;               // of an element to another, among many
};

/// What connects the hosts: a full-duplex link each, into a network that carries all of them at once.
struct Link {
  double latency = 0;      // seconds from the send of a short message to its arrival
  double bandwidth = 0;    // bytes a second, each way; 0: no limit
  double overhead = 4e-6;  // seconds of a core for each message sent or received
  double copy = 0.3e-9;    // seconds of a core for each byte sent or received
};

/// Which elements are exchanged by P hosts that compute a shard each: N parameters, cut into chunks
/// that one host each owns. `owned` and `owned_chunks` are the most that any host owns.
struct Traffic {
  index_t hosts = 1;
  index_t parameters = 0, chunks = 0;
  index_t owned = 0, owned_chunks = 0;

  /// Elements that the busiest host sends in a step: gradients of what others own, and the new
  /// weights of what it owns to all others. It receives as many.
  index_t sent() const { return parameters - owned + (hosts - 1) * owned; }
};

/// The traffic for parameters with `counts` elements each. **Errors**: no parameters, no host.
Traffic traffic_of(std::span<const index_t> counts, index_t hosts);

/// A step's time by terms, in seconds.
struct StepTime {
  double work = 0;      // of the busiest host
  double exchange = 0;  // gradients, as far as no backward hides them, weights and gathers

  double total() const { return work + exchange; }
};

/// The backward has `layers` parts of equal size, whose gradients come one after another.
StepTime step_time(const Traffic& traffic, const Work& work, const Link& link, index_t layers);

}  // namespace tessera::bench
