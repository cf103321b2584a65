#include "bench/probe_loops.h"

#include <cstdint>

namespace tessera::bench {

namespace {

template <class T, int kBytes>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes), may_alias));
};

constexpr index_t kSteps = 1 << 16;

/// A dozen chains of multiply-adds, enough to hide their latency: x = x * a + b on whole registers.
/// No chain starts at b / (1 - a), its fixed point, because the compiler would remove the chain.
template <class T, int kBytes>
[[gnu::always_inline]] inline double multiply_add_chains() {
  using Vec = typename Vector<T, kBytes>::type;
  constexpr int kChains = 12;
  Vec x[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) x[i] = Vec{} + static_cast<T>(i);
  const Vec a = Vec{} + static_cast<T>(0.999);
  const Vec b = Vec{} + static_cast<T>(0.0013);
  for (index_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
  }
  Vec sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = sum + x[i];
  return static_cast<double>(sum[0]);
}

template <int kBytes>
[[gnu::always_inline]] inline void triad(float* a, const float* b, const float* c, index_t count,
                                         index_t times) {
  using Vec = typename Vector<float, kBytes>::type;
  constexpr index_t kLanes = kBytes / static_cast<int>(sizeof(float));
  const Vec s = Vec{} + 3.0F;
  for (index_t pass = 0; pass < times; ++pass) {
#pragma GCC unroll 4
    for (index_t i = 0; i < count; i += kLanes) {
      *reinterpret_cast<Vec*>(a + i) =
          *reinterpret_cast<const Vec*>(b + i) + s * *reinterpret_cast<const Vec*>(c + i);
    }
    asm volatile("" ::: "memory");  // forces the next pass to write again
  }
}

template <int kBytes>
constexpr ProbeLoops loops_of(double (*chains)(), double (*chains_double)(),
                              void (*triad)(float*, const float*, const float*, index_t, index_t)) {
  constexpr double kFlopsPerByte = 12.0 * 2.0 * kSteps * kBytes;
  return {chains, kFlopsPerByte / sizeof(float), chains_double, kFlopsPerByte / sizeof(double),
          triad};
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] double chains_avx512() {
  return multiply_add_chains<float, 64>();
}
[[gnu::target("avx512f")]] double chains_double_avx512() {
  return multiply_add_chains<double, 64>();
}
[[gnu::target("avx512f")]] void triad_avx512(float* a, const float* b, const float* c,
                                             index_t count, index_t times) {
  triad<64>(a, b, c, count, times);
}
[[gnu::target("avx2,fma")]] double chains_avx2() {
  return multiply_add_chains<float, 32>();
}
[[gnu::target("avx2,fma")]] double chains_double_avx2() {
  return multiply_add_chains<double, 32>();
}
[[gnu::target("avx2,fma")]] void triad_avx2(float* a, const float* b, const float* c, index_t count,
                                            index_t times) {
  triad<32>(a, b, c, count, times);
}
#endif
double chains_baseline() {
  return multiply_add_chains<float, 16>();
}
double chains_double_baseline() {
  return multiply_add_chains<double, 16>();
}
void triad_baseline(float* a, const float* b, const float* c, index_t count, index_t times) {
  triad<16>(a, b, c, count, times);
}

}  // namespace

ProbeLoops probe_loops(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return loops_of<64>(chains_avx512, chains_double_avx512, triad_avx512);
  if (isa == "avx2") return loops_of<32>(chains_avx2, chains_double_avx2, triad_avx2);
#endif
  return loops_of<16>(chains_baseline, chains_double_baseline, triad_baseline);
}

index_t addition_chain() {
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
