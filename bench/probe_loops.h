// The loops that probe.h times, on whole registers of each instruction set.
#pragma once

#include <string>

#include "tensor/kernels/types.h"

namespace tessera::bench {

/// Loops of one instruction set.
struct ProbeLoops {
  double (*chains)();  // multiply-adds of float32 on registers
  double flops;        // of a call
  double (*chains_double)();
  double flops_double;
  /// a = b + 3 c, `times` times, over arrays of `count` floats, a multiple of 64, at addresses that
  /// are multiples of 64 bytes.
  void (*triad)(float* a, const float* b, const float* c, index_t count, index_t times);
};

ProbeLoops probe_loops(const std::string& isa);

/// Additions that each wait for the previous one; returns their cycles, 0 if unknown.
index_t addition_chain();

}  // namespace tessera::bench
