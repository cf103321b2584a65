// The loops that probe.h times, on whole registers of each instruction set.
#pragma once

#include <cstdint>

#include "tessera/tensor/kernels/types.h"

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

// probe_loops.cpp, compiled for each instruction set.
namespace baseline {
ProbeLoops probe_loops();
}
#if defined(__x86_64__)
namespace avx2 {
ProbeLoops probe_loops();
}
namespace avx512 {
ProbeLoops probe_loops();
}
#endif

/// Additions that each wait for the previous one; returns their cycles, 0 if unknown.
inline index_t addition_chain() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr index_t kRounds = 4096;
  std::uint64_t x = 1;
  std::uint64_t y = 3;
  for (index_t round = 0; round < kRounds; ++round) {
#pragma GCC unroll 32
    for (int i = 0; i < 32; ++i) {
#if defined(__x86_64__)
      asm volatile("add %1, %0" : "+r"(x) : "r"(y));
#else
      asm volatile("add %0, %0, %1" : "+r"(x) : "r"(y));
#endif
    }
  }
  return kRounds * 32;
#else
  return 0;
#endif
}

}  // namespace tessera::bench
