#include "bench/measure.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>

#include "bench/probe.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/dispatch.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/storage.h"

namespace tessera::bench {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The quantile: the fraction `part` of the sorted values are below the result.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = place - static_cast<double>(below);
  return sorted[below] * (1 - weight) + sorted[above] * weight;
}

/// Waits until a call that began at `start` has taken longer by the fraction `slow`.
void slow_down(Clock::time_point start, double slow) {
  if (slow <= 0) return;
  const double until = seconds_since(start) * (1 + slow);
  while (seconds_since(start) < until) {
  }
}

/// The seconds of every call in the time given, at least five calls.
std::vector<double> time_calls(const std::function<Tensor()>& run, const Settings& settings) {
  constexpr std::size_t kCalls = 5;
  std::vector<double> calls;
  const auto start = Clock::now();
  while (calls.size() < kCalls || seconds_since(start) < settings.seconds) {
    const auto call = Clock::now();
    benchmark::DoNotOptimize(run());
    slow_down(call, settings.slow);
    calls.push_back(seconds_since(call));
  }
  return calls;
}

/// The memory that tensors take during a call, without the memory used before it and its result:
/// freed blocks are not returned to the system, so after the call they are still counted.
index_t extra_memory(const std::function<Tensor()>& run) {
  release_cached_memory();
  const Tensor result = run();
  return memory_stats().cached;
}

void summarise(std::vector<double> calls, Result& result) {
  constexpr double kNoisy = 1.1;
  std::sort(calls.begin(), calls.end());
  result.calls = std::ssize(calls);
  result.best_s = calls.front();
  result.median_s = quantile(calls, 0.5);
  result.spread = (quantile(calls, 0.75) - quantile(calls, 0.25)) / result.median_s;
  // A peak that was measured while other programs ran is too low.
  const bool low_peak =
      result.peak_flops > 0 && result.flops > kNoisy * result.peak_flops * result.best_s;
  result.noisy = result.median_s > kNoisy * result.best_s || low_peak;
}

/// The better of the known peak and `seconds` of new measurement.
void measure_peaks(const Settings& settings, DType dtype, Result& result) {
  if (!settings.peaks) return;
  const double seconds = settings.seconds / 2;
  result.peak_bytes_s = std::max(result.peak_bytes_s, memory_bandwidth(seconds));
  result.peak_flops = std::max(result.peak_flops, peak_flops(dtype, seconds));
}

void time_case(const Case& work, DType dtype, const Settings& settings, Result& result) {
  result.label = work.label;
  const double error = work.error(work.run());
  result.error = error;
  if (!(error <= 1)) {
    result.failure = str_cat("wrong result: ", error, " times the error allowed");
    return;
  }
  benchmark::DoNotOptimize(work.run());
  result.memory_bytes = static_cast<double>(extra_memory(work.run));
  measure_peaks(settings, dtype, result);
  constexpr int kWarmUp = 2;
  for (int call = 0; call < kWarmUp; ++call) benchmark::DoNotOptimize(work.run());
  std::vector<double> calls = time_calls(work.run, settings);
  result.ghz = clock_ghz();
  measure_peaks(settings, dtype, result);
  summarise(std::move(calls), result);
}

}  // namespace

Result measure(const Selected& selected, const Settings& settings) {
  const Cost& cost = selected.work.cost;
  Result result;
  result.name = selected.name;
  result.by = selected.by;
  result.dtype = name(cost.dtype);
  result.flops = cost.flops;
  result.bytes = cost.bytes;
  result.threads = thread_count();
  result.isa = current_isa();
  try {
    time_case(selected.work.make(), cost.dtype, settings, result);
  } catch (const std::exception& error) {
    result.failure = error.what();  // the other cases keep their times
  }
  return result;
}

}  // namespace tessera::bench
