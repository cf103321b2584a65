// What the processors do for messages, whatever the network.
#pragma once

#include "bench/scaling/step_time.h"
#include "nn/training/communicator.h"

namespace tessera::bench {

/// Overhead and copy of a link, by messages of 8 bytes and of a chunk that neighbours, ranks 0 and 1,
/// 2 and 3, send each other at the same time; the median of several rounds. latency and bandwidth
/// are 0. Called by all processes; the figures of rank 0 are given to all.
/// **Errors**: a single process.
Link measure_link(nn::Communicator& processes);

}  // namespace tessera::bench
