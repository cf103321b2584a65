#include "bench/case.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/probe.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

double seconds_of(const std::function<Tensor()>& run) {
  const auto start = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(run());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void report(benchmark::State& state, const Cost& cost, double best) {
  if (cost.flops > 0) {
    state.counters["FLOP/s"] = cost.flops / best;
    state.counters["of_peak"] = cost.flops / best / peak_flops();
  }
  if (cost.bytes > 0) {
    state.counters["bytes/s"] = cost.bytes / best;
    state.counters["of_stream"] = cost.bytes / best / stream_bandwidth();
  }
}

}  // namespace

void register_case(const std::string& name, const Cost& cost, std::function<Case()> make) {
  const auto body = [cost, make = std::move(make)](benchmark::State& state) {
    const Case work = make();
    const double error = work.error(work.run());
    if (!(error <= 1)) {
      state.SkipWithError(format("wrong result: ", error, " times the error allowed").c_str());
      return;
    }
    constexpr int kCalls = 5;
    double best = HUGE_VAL;
    for ([[maybe_unused]] auto iteration : state) {
      double least = HUGE_VAL;
      for (int call = 0; call < kCalls; ++call) least = std::min(least, seconds_of(work.run));
      state.SetIterationTime(least);
      best = std::min(best, least);
    }
    report(state, cost, best);
    state.SetLabel(work.label);
  };
  benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMillisecond);
}

double sampled_error(const Tensor& result, index_t samples,
                     const std::function<double(index_t)>& expected, double tolerance) {
  const Tensor flat = result.contiguous().flatten();
  const float* values = flat.data<float>();
  const index_t step = std::max<index_t>(flat.count() / samples, 1) | 1;  // odd: visits all columns
  double worst = 0;
  for (index_t i = 0; i < flat.count(); i += step) {
    const double error = std::abs(static_cast<double>(values[i]) - expected(i));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error / tolerance);
  }
  return worst;
}

}  // namespace tessera::bench
