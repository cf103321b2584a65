// What this machine can do at most, measured with the threads and the instruction set in use.
#pragma once

#include <vector>

#include "bench/results/results.h"
#include "tensor/dtype.h"

namespace tessera::bench {

/// Floating point operations per second of fused multiply-adds on registers only, on all threads of
/// the budget: the best moment of so many seconds.
double peak_flops(DType dtype, double seconds);

/// Bytes per second of a = b + s c, two reads and a write, over three arrays that no cache holds: each
/// thread has its part of them, which it touched first. The best pass of so many seconds.
/// **Source**: McCalpin's STREAM, the triad.
double memory_bandwidth(double seconds);

/// The same over half of each level of the machine's caches, then over memory.
std::vector<results::Bandwidth> level_bandwidths(double seconds);

/// The clock of the calling thread's core at this moment, in GHz: a chain of additions, one a cycle.
/// 0 where such a chain is not known for the processor.
double clock_ghz();

}  // namespace tessera::bench
