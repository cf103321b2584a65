// The limits of this machine, measured with the threads and the instruction set in use.
#pragma once

#include <vector>

#include "bench/results/results.h"
#include "tessera/tensor/dtype.h"

namespace tessera::bench {

/// Floating point operations per second of fused multiply-adds only on registers, on all threads:
/// the best of several measurements within `seconds`.
double peak_flops(DType dtype, double seconds);

/// Bytes per second of a = b + s c, two reads and a write, over three arrays larger than all
/// caches: each thread has its own part of them, and writes to it first. The best pass within
/// `seconds`.
/// **Source**: McCalpin's STREAM, the triad.
double memory_bandwidth(double seconds);

/// The same over half of each level of the machine's caches, and over memory.
std::vector<results::Bandwidth> level_bandwidths(double seconds);

/// The present clock of the calling thread's core, in GHz, from a chain of additions, one per
/// cycle. 0 if the latency of the chain is not known for the processor.
double clock_ghz();

}  // namespace tessera::bench
