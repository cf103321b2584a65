#include "tensor/kernels/parallel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace tessera {

namespace {

/// The CPUs the cgroup may use, rounded up; a large number where there is no quota.
int cgroup_quota() {
  long long quota = -1;
  long long period = 0;
  if (std::FILE* v2 = std::fopen("/sys/fs/cgroup/cpu.max", "r")) {
    if (std::fscanf(v2, "%lld %lld", &quota, &period) != 2) quota = -1;  // "max 100000"
    std::fclose(v2);
  } else {
    const auto read = [](const char* path, long long& value) {
      if (std::FILE* file = std::fopen(path, "r")) {
        if (std::fscanf(file, "%lld", &value) != 1) value = -1;
        std::fclose(file);
      }
    };
    read("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota);
    read("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period);
  }
  constexpr long long kNoQuota = 1 << 20;
  if (quota <= 0 || period <= 0) return kNoQuota;
  return static_cast<int>(std::clamp<long long>((quota + period - 1) / period, 1, kNoQuota));
}

int affinity_count() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// OMP_NUM_THREADS may be a list, one number per nesting level; the first one is ours.
int default_thread_count() {
  const char* asked = std::getenv("OMP_NUM_THREADS");
  const int wanted = asked != nullptr ? std::atoi(asked) : 0;
  return std::min(wanted > 0 ? wanted : affinity_count(), cgroup_quota());
}

thread_local int chosen_thread_count = 0;

}  // namespace

int thread_count() noexcept {
#if defined(_OPENMP)
  const bool serial = omp_in_parallel() != 0;
#else
  constexpr bool serial = true;
#endif
  if (serial) return 1;
  static const int fallback = default_thread_count();
  return chosen_thread_count > 0 ? chosen_thread_count : fallback;
}

void set_thread_count(int threads) noexcept {
  chosen_thread_count = std::max(threads, 0);
}

namespace kernels {

void run_pieces(index_t count, index_t pieces, void (*body)(void*, index_t, index_t),
                void* context) noexcept {
#if defined(_OPENMP)
#pragma omp parallel for num_threads(static_cast <int>(pieces)) schedule(static, 1)
#endif
  for (index_t i = 0; i < pieces; ++i) {
    body(context, count * i / pieces, count * (i + 1) / pieces);
  }
}

void run_tasks(index_t tasks, [[maybe_unused]] index_t workers,
               void (*body)(void*, index_t, index_t), void* context) noexcept {
#if defined(_OPENMP)
  if (workers > 1 && !omp_in_parallel()) {
    if (tasks == workers) {
      // One each, and the same one in each call: what a worker has in its caches, it finds again.
#pragma omp parallel for num_threads(static_cast <int>(workers)) schedule(static, 1)
      for (index_t task = 0; task < tasks; ++task) body(context, task, omp_get_thread_num());
      return;
    }
#pragma omp parallel for num_threads(static_cast <int>(workers)) schedule(dynamic, 1)
    for (index_t task = 0; task < tasks; ++task) body(context, task, omp_get_thread_num());
    return;
  }
#endif
  for (index_t task = 0; task < tasks; ++task) body(context, task, 0);
}

}  // namespace kernels
}  // namespace tessera
