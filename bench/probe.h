// What this machine can do at most, measured in this run, with the threads this run uses.
#pragma once

namespace tessera::bench {

/// Floating point operations per second of float32 fused multiply-adds on registers alone, with the
/// vectors of the instruction set in use, on all threads of the budget. Measured once.
double peak_flops();

/// Bytes per second of a = b + s c over arrays that no cache holds, counting two reads and a write.
/// Measured once. **Source**: McCalpin's STREAM, the triad.
double stream_bandwidth();

}  // namespace tessera::bench
