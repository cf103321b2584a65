#include "bench/case.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/probe.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The shortest of all calls in the time given, and of five at least.
double best_call(const std::function<Tensor()>& run) {
  constexpr double kSeconds = 0.4;
  constexpr int kCalls = 5;
  double best = HUGE_VAL;
  const auto start = Clock::now();
  for (int calls = 0; calls < kCalls || seconds_since(start) < kSeconds; ++calls) {
    const auto call = Clock::now();
    benchmark::DoNotOptimize(run());
    best = std::min(best, seconds_since(call));
  }
  return best;
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
    constexpr int kWarmUp = 2;  // beside the call that was checked
    for (int call = 0; call < kWarmUp; ++call) benchmark::DoNotOptimize(work.run());
    for ([[maybe_unused]] auto iteration : state) {
      const double best = best_call(work.run);
      state.SetIterationTime(best);
      report(state, cost, best);
    }
    state.SetLabel(work.label);
  };
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
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
