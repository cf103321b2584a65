// The steps of the ladders, and the loops that measure a core, for the instruction set in use.
#pragma once

#include "bench/attention_ladder.h"
#include "bench/matmul_ladder.h"
#include "bench/probe_loops.h"
#include "tessera/tensor/kernels/dispatch.h"

namespace tessera::bench {

inline Ladder matmul_ladder() {
#if defined(__x86_64__)
  if (current_isa() == "avx512") return avx512::matmul_ladder();
  if (current_isa() == "avx2") return avx2::matmul_ladder();
#endif
  return baseline::matmul_ladder();
}

inline AttentionLadder attention_ladder() {
#if defined(__x86_64__)
  if (current_isa() == "avx512") return avx512::attention_ladder();
  if (current_isa() == "avx2") return avx2::attention_ladder();
#endif
  return baseline::attention_ladder();
}

inline ProbeLoops probe_loops() {
#if defined(__x86_64__)
  if (current_isa() == "avx512") return avx512::probe_loops();
  if (current_isa() == "avx2") return avx2::probe_loops();
#endif
  return baseline::probe_loops();
}

}  // namespace tessera::bench
