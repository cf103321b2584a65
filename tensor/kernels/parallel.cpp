#include "tessera/tensor/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <thread>
#include <vector>

#include "tessera/tensor/kernels/governor.h"

#if defined(_OPENMP)
#include <omp.h>
#include <pthread.h>
#endif

namespace tessera {

namespace {

/// The number of CPUs that the cgroup may use, rounded up; a large number if there is no quota.
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

/// The processors that this process may use; sched_getaffinity would count those of this thread,
/// which OMP_PROC_BIND binds to one.
int affinity_count() {
#if defined(_OPENMP)
  return omp_get_num_procs();
#else
  return 1;
#endif
}

/// More than any machine has, and few enough for a region's arrays.
constexpr int kMostThreads = 1024;

/// OMP_NUM_THREADS may be a list, one number per nesting level; the first one counts here.
int default_thread_count() {
  static const int count = [] {
    const char* value = std::getenv("OMP_NUM_THREADS");
    const int number = value != nullptr ? std::atoi(value) : 0;
    return std::min({number > 0 ? number : affinity_count(), cgroup_quota(), kMostThreads});
  }();
  return count;
}

thread_local int chosen_thread_count = 0;
thread_local bool is_governed = true;

/// Set in a child of fork(): fork() does not copy threads, and the parent's OpenMP may have some,
/// started by this library or by others; the child would hang waiting for them.
std::atomic<bool> is_forked = false;

#if defined(_OPENMP)
[[maybe_unused]] const int fork_handler =
    pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
#endif

}  // namespace

int thread_count() noexcept {
#if defined(_OPENMP)
  const bool serial = omp_in_parallel() != 0 || is_forked.load(std::memory_order_relaxed);
#else
  constexpr bool serial = true;
#endif
  if (serial) return 1;
  return chosen_thread_count > 0 ? chosen_thread_count : default_thread_count();
}

void set_thread_count(int threads) noexcept {
  chosen_thread_count = std::clamp(threads, 0, kMostThreads);
  is_governed = chosen_thread_count == 0;
}

void set_thread_limit(int threads) noexcept {
  set_thread_count(threads);
  is_governed = true;
}

namespace kernels {

namespace {

constinit std::atomic<void (*)(index_t) noexcept> wait_observer = nullptr;

#if defined(_OPENMP)

index_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// At most one task per thread. A thread runs its own task first, because the previous call of the
/// same kind left data for this task in its caches; then it takes the tasks of threads that have
/// not started.
class OwnTasks {
 public:
  explicit OwnTasks(index_t tasks) : tasks_(tasks) {}

  /// The next task of thread `me`, or -1 if none is left.
  index_t next(index_t me) {
    for (index_t step = 0; step < tasks_; ++step) {
      const index_t task = (me + step) % tasks_;
      const std::uint64_t bit = std::uint64_t{1} << task % 64;
      std::atomic<std::uint64_t>& word = taken_[task / 64];
      if ((word.load(std::memory_order_relaxed) & bit) != 0) continue;
      if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) return task;
    }
    return -1;
  }

 private:
  index_t tasks_;
  std::atomic<std::uint64_t> taken_[kMostThreads / 64] = {};
};

/// More tasks than threads: a free thread takes the next task.
class SharedTasks {
 public:
  explicit SharedTasks(index_t tasks) : tasks_(tasks) {}

  index_t next(index_t) {
    const index_t task = first_.fetch_add(1, std::memory_order_relaxed);
    return task < tasks_ ? task : -1;
  }

 private:
  index_t tasks_;
  std::atomic<index_t> first_ = 0;
};

thread_local Governor governor;

/// Whether the calling thread should run all tasks now.
bool should_use_one_thread(index_t time) {
  return is_governed && governor.is_pausing(time);
}

/// Threads for a team, up to `wanted`. OpenMP ends the process if it cannot start a thread, for
/// example under a limit of memory; so a number above the default is tried here once. If not all
/// start, half of them leave memory for tensors.
index_t startable(index_t wanted) {
  thread_local index_t tried = default_thread_count();
  thread_local index_t most = kMostThreads;
  wanted = std::min(wanted, most);
  if (wanted <= tried) return wanted;
  std::vector<std::thread> started;
  std::latch end(1);
  try {
    started.reserve(static_cast<std::size_t>(wanted));
    while (std::ssize(started) + 1 < wanted) started.emplace_back([&end] { end.wait(); });
  } catch (const std::exception&) {  // fewer threads give the same results
    most = std::max<index_t>(default_thread_count(), std::ssize(started) / 2);
  }
  end.count_down();
  for (std::thread& thread : started) thread.join();
  tried = std::min(wanted, most);
  return tried;
}

/// Threads of LLVM's OpenMP spin for 200 ms after a region unless another time is set, those of
/// GNU's for a few ms.
void wait_briefly() {
#if defined(KMP_VERSION_MAJOR)
  thread_local const bool is_set = [] {
    constexpr int kMilliseconds = 4;
    const bool is_free =
        std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv("KMP_BLOCKTIME") == nullptr;
    if (is_free) kmp_set_blocktime(kMilliseconds);
    return is_free;
  }();
  static_cast<void>(is_set);
#endif
}

/// The average time of a task, for each thread of a team.
struct TaskTimes {
  index_t of[kMostThreads];  // -1: the thread got no task

  /// The median, the lower one of two: slower threads may have been preempted, and the fastest
  /// thread may have had a small last task.
  index_t typical(index_t threads) {
    index_t* const end = std::remove(of, of + threads, -1);
    if (end == of) return 0;
    index_t* const median = of + (end - of - 1) / 2;
    std::nth_element(of, median, end);
    return *median;
  }
};

/// Runs the tasks on a team of threads, and reports the time that this saved to the governor.
template <class Tasks>
void run_team(index_t start, index_t tasks, index_t workers, void (*body)(void*, index_t, index_t),
              void* context) noexcept {
  wait_briefly();
  Tasks claims(tasks);
  TaskTimes times;
  index_t threads = 0;
  std::atomic<index_t> ends = 0;  // summed
  const auto observe_wait = wait_observer.load(std::memory_order_relaxed);
#pragma omp parallel num_threads(static_cast <int>(workers))
  {
    const index_t me = omp_get_thread_num();
    if (me == 0) threads = omp_get_num_threads();
    const index_t begin = now();
    index_t count = 0;
    for (index_t task = claims.next(me); task >= 0; task = claims.next(me)) {
      body(context, task, me);
      ++count;
    }
    times.of[me] = count > 0 ? (now() - begin) / count : -1;
    if (observe_wait != nullptr) ends.fetch_add(now() - start, std::memory_order_relaxed);
  }
  if (observe_wait == nullptr && !is_governed) return;
  const index_t end = now();
  if (observe_wait != nullptr) observe_wait(threads * (end - start) - ends.load());
  if (!is_governed) return;
  governor.account(end, end - start, times.typical(threads) * tasks);
}

#endif

}  // namespace

void set_wait_observer(void (*observe)(index_t) noexcept) noexcept {
  wait_observer.store(observe, std::memory_order_relaxed);
}

void run_tasks(index_t tasks, [[maybe_unused]] index_t workers,
               void (*body)(void*, index_t, index_t), void* context) noexcept {
#if defined(_OPENMP)
  if (tasks > 1 && workers > 1 && thread_count() > 1) {
    const index_t start = now();
    if (!should_use_one_thread(start)) {
      workers = startable(std::min(tasks, workers));
      if (tasks <= workers) return run_team<OwnTasks>(start, tasks, tasks, body, context);
      return run_team<SharedTasks>(start, tasks, workers, body, context);
    }
  }
#endif
  for (index_t task = 0; task < tasks; ++task) body(context, task, 0);
}

}  // namespace kernels
}  // namespace tessera
