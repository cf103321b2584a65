#include "bench/probe.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "bench/best_seconds.h"
#include "bench/ladders.h"
#include "bench/machine.h"
#include "tessera/tensor/detail/large_pages.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::bench {

namespace {

/// Three arrays for each thread, by the worker's number. A thread writes to its pages first, so
/// that they are allocated near it on machines where memory is nearer to some processors.
class Team {
 public:
  Team(index_t bytes, index_t threads)
      : each_(std::max<index_t>(bytes / threads / 3 / index_t{sizeof(float)} / kWidest, 1) *
              kWidest),
        touched_(static_cast<std::size_t>(threads)) {
    for (index_t thread = 0; thread < threads; ++thread) {
      memory_.push_back(detail::large_pages<float>(3 * static_cast<std::size_t>(each_)));
    }
  }

  /// One pass of every thread, or more if starting the threads would take a large part of the time.
  double best_bandwidth(double seconds) {
    constexpr index_t kMoved = index_t{16} << 20;
    const ProbeLoops loops = probe_loops();
    const index_t threads = std::ssize(memory_);
    const index_t moved = 3 * each_ * index_t{sizeof(float)};
    const index_t times = std::max<index_t>(kMoved / moved, 1);
    const auto pass = [&] {
      kernels::parallel_tasks(threads, threads, [&](index_t, index_t worker) {
        const auto place = static_cast<std::size_t>(worker);
        float* const a = memory_[place].get();
        if (touched_[place] == 0) std::fill_n(a, 3 * each_, 1.0F);
        touched_[place] = 1;
        loops.triad(a, a + each_, a + 2 * each_, each_, times);
      });
    };
    pass();  // writes to the arrays first
    return static_cast<double>(moved * times * threads) / best_seconds(seconds, pass);
  }

 private:
  static constexpr index_t kWidest = 64;  // floats: a multiple of every loop's step

  index_t each_;
  std::vector<detail::LargePages<float>> memory_;
  std::vector<char> touched_;
};

/// The last level of the caches.
index_t largest_cache() {
  index_t bytes = index_t{1} << 20;
  for (const CacheLevel& cache : data_caches()) bytes = std::max(bytes, cache.bytes);
  return bytes;
}

/// Three arrays, together four times as large as the last cache, so that little of one pass is
/// still there in the next.
index_t beyond_caches() {
  constexpr index_t kMost = index_t{1} << 30;
  constexpr index_t kLeast = index_t{192} << 20;
  return std::clamp(4 * largest_cache(), kLeast, kMost);
}

}  // namespace

double peak_flops(DType dtype, double seconds) {
  const ProbeLoops loops = probe_loops();
  const index_t threads = thread_count();
  const bool twice = dtype == kFloat64;
  std::vector<double> sink(static_cast<std::size_t>(threads) * 8);  // a cache line per thread
  const double best = best_seconds(seconds, [&] {
    kernels::parallel_tasks(threads, threads, [&](index_t task, index_t) {
      sink[static_cast<std::size_t>(task) * 8] = twice ? loops.chains_double() : loops.chains();
    });
  });
  const double flops = twice ? loops.flops_double : loops.flops;
  return flops * static_cast<double>(threads) / best;
}

double memory_bandwidth(double seconds) {
  // Kept, because allocating the pages of such large arrays takes longer than a pass.
  static std::unique_ptr<Team> team;
  static index_t threads = 0;
  if (threads != thread_count()) {
    threads = thread_count();
    team = std::make_unique<Team>(beyond_caches(), threads);
  }
  return team->best_bandwidth(seconds);
}

std::vector<results::Bandwidth> level_bandwidths(double seconds) {
  std::vector<results::Bandwidth> found;
  for (const CacheLevel& cache : data_caches()) {
    const index_t users = std::max<index_t>(std::min<index_t>(cache.shared_by, thread_count()), 1);
    const index_t copies = (thread_count() + users - 1) / users;
    const index_t bytes = cache.bytes / 2 * copies;
    found.push_back({"L" + std::to_string(cache.level), static_cast<double>(bytes),
                     Team(bytes, thread_count()).best_bandwidth(seconds)});
  }
  found.push_back({"memory", static_cast<double>(beyond_caches()), memory_bandwidth(seconds)});
  return found;
}

double clock_ghz() {
  index_t cycles = 0;
  const double best = best_seconds(0, [&] { cycles = addition_chain(); });
  return static_cast<double>(cycles) / best * 1e-9;
}

}  // namespace tessera::bench
