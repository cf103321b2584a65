// The loops of probe_loops.h on whole registers, once per instruction set.
#include "bench/probe_loops.h"

#include "tessera/tensor/kernels/simd.h"

namespace tessera::bench::TESSERA_LADDER_ISA {

namespace {

using namespace kernels::TESSERA_ISA;

constexpr index_t kSteps = 1 << 16;
constexpr int kChains = 12;  // enough to hide the latency of a multiply-add

/// x = x * a + b. No chain starts at b / (1 - a), its fixed point, because the compiler would
/// remove the chain.
template <class T>
double multiply_add_chains() {
  Vec<T> x[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) x[i] = broadcast(static_cast<T>(i));
  const Vec<T> a = broadcast(static_cast<T>(0.999));
  const Vec<T> b = broadcast(static_cast<T>(0.0013));
  for (index_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
  }
  Vec<T> sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = sum + x[i];
  return static_cast<double>(sum[0]);
}

void triad(float* a, const float* b, const float* c, index_t count, index_t times) {
  for (index_t pass = 0; pass < times; ++pass) {
#pragma GCC unroll 4
    for (index_t i = 0; i < count; i += kLanes<float>) store(a + i, load(b + i) + 3 * load(c + i));
    asm volatile("" ::: "memory");  // forces the next pass to write again
  }
}

template <class T>
constexpr double kChainFlops = 2.0 * kChains* kSteps* static_cast<double>(kLanes<T>);

}  // namespace

ProbeLoops probe_loops() {
  return {multiply_add_chains<float>, kChainFlops<float>, multiply_add_chains<double>,
          kChainFlops<double>, triad};
}

}  // namespace tessera::bench::TESSERA_LADDER_ISA
