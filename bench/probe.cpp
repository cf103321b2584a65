#include "bench/probe.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>

#include "tensor/create.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::bench {

namespace {

double best_seconds(int times, const std::function<void()>& run) {
  double best = 1e30;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const auto stop = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double>(stop - start).count());
  }
  return best;
}

constexpr index_t kSteps = 1 << 16;

/// A dozen chains of multiply-adds, enough to hide their latency: x = x * a + b on whole registers.
/// No chain starts at b / (1 - a): the compiler sees that it would stay there, and drops it.
template <class Vec>
[[gnu::always_inline]] inline float multiply_add_chains() {
  constexpr int kChains = 12;
  Vec x[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) x[i] = Vec{} + static_cast<float>(i);
  const Vec a = Vec{} + 0.999F;
  const Vec b = Vec{} + 0.0013F;
  for (index_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) x[i] = x[i] * a + b;
  }
  Vec sum = x[0];
#pragma GCC unroll 12
  for (int i = 1; i < kChains; ++i) sum = sum + x[i];
  return sum[0];
}

template <int kBytes>
struct Vector {
  typedef float type __attribute__((vector_size(kBytes)));
};

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float chains_avx512() {
  return multiply_add_chains<Vector<64>::type>();
}
[[gnu::target("avx2,fma")]] float chains_avx2() {
  return multiply_add_chains<Vector<32>::type>();
}
#endif
float chains_baseline() {
  return multiply_add_chains<Vector<16>::type>();
}

struct Probe {
  float (*run)();
  int lanes;
};

Probe probe_for(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return {chains_avx512, 16};
  if (isa == "avx2") return {chains_avx2, 8};
#endif
  return {chains_baseline, 4};
}

double measure_flops() {
  const Probe probe = probe_for(current_isa());
  const index_t threads = thread_count();
  Tensor sink = zeros({threads});
  float* const out = sink.mutable_data<float>();
  const double seconds = best_seconds(500, [&] {
    kernels::parallel_tasks(threads, threads,
                            [&](index_t task, index_t) { out[task] = probe.run(); });
  });
  constexpr double kFlopsPerLane = 12.0 * 2.0 * kSteps;
  return kFlopsPerLane * probe.lanes * static_cast<double>(threads) / seconds;
}

double measure_stream() {
  constexpr index_t kCount = index_t{1} << 25;  // 128 MB an array
  Tensor target = zeros({kCount});
  const Tensor b = ones({kCount});
  const Tensor c = ones({kCount});
  float* const out = target.mutable_data<float>();
  const float* const x = b.data<float>();
  const float* const y = c.data<float>();
  const double seconds = best_seconds(5, [&] {
    kernels::parallel_for(kCount, 1, [&](index_t begin, index_t end) {
      for (index_t i = begin; i < end; ++i) out[i] = x[i] + 3.0F * y[i];
    });
  });
  return 3 * sizeof(float) * static_cast<double>(kCount) / seconds;
}

}  // namespace

double peak_flops() {
  static const double measured = measure_flops();
  return measured;
}

double stream_bandwidth() {
  static const double measured = measure_stream();
  return measured;
}

}  // namespace tessera::bench
