// Threads. All parallel work of the library goes through parallel_for and parallel_tasks; run_tasks
// is the part of both that is not a template. Each free thread takes the next task: if a thread
// starts late, other threads do its tasks, but OpenMP still waits for the late thread. Therefore
// governor.h decides when to use one thread.
//
// This header has no inline code of the standard library, and its templates are static (internal
// linkage), so that files compiled for one instruction set may include it (see kernels/README.md,
// "One definition").
//
// Bodies must not throw: an exception must not leave a parallel region. The number of threads never
// changes a result, because it does not change the order of the additions of any sum.
#pragma once

#include "tessera/tensor/kernels/types.h"

namespace tessera {

/// The number of threads of a parallel region: the number given to set_thread_count, else
/// OMP_NUM_THREADS, else the number of CPUs that this process may use; the last two are at most the
/// CPU quota of the cgroup. The number is 1 without OpenMP, inside a parallel region of the caller,
/// and in a child of fork().
int thread_count() noexcept;

/// Sets thread_count, to at most 1024, for the calling thread. The thread uses this number even
/// while other programs occupy the processors; with the default number, the library computes on one
/// thread at such times. 0 restores the default. If the system cannot start more
/// threads than the default, the library computes on fewer.
void set_thread_count(int threads) noexcept;

/// As set_thread_count, but the library computes on one thread while other programs occupy the
/// processors, as with the default number.
void set_thread_limit(int threads) noexcept;

namespace kernels {

/// Runs `body(context, task, worker)` for each task in [0, tasks) on `workers` threads numbered
/// from 0; a free thread takes the next task. With one worker, or if threads would save no time at
/// the moment, the caller runs the tasks in order as worker 0.
void run_tasks(index_t tasks, index_t workers, void (*body)(void*, index_t, index_t),
               void* context) noexcept;

/// Calls `observe(nanoseconds)` after each parallel region, in the thread that entered the region.
/// `nanoseconds` is the sum of the times that the region's threads have waited for the slowest.
/// Null ends the calls.
void set_wait_observer(void (*observe)(index_t nanoseconds) noexcept) noexcept;

/// About the least work for a thread, in elementary operations: entering a parallel region costs a
/// few microseconds. So work below about twice this number stays in the calling thread.
inline constexpr index_t kParallelGrain = 32768;

/// The number of floating-point operations of a matrix product that take as long as one elementary
/// operation.
inline constexpr index_t kFlopsPerOperation = 16;

/// run_tasks for a callable: calls `body(task, worker)` for each task.
template <class Body>
static void parallel_tasks(index_t tasks, index_t workers, const Body& body) {
  run_tasks(
      tasks, workers,
      [](void* context, index_t task, index_t worker) {
        (*static_cast<const Body*>(context))(task, worker);
      },
      const_cast<Body*>(&body));
}

/// Calls `body(begin, end)` on pieces of [0, count), where one index costs about `cost` elementary
/// operations.
template <class Body>
static void parallel_for(index_t count, index_t cost, const Body& body) {
  const index_t per_piece = cost >= kParallelGrain ? 1 : kParallelGrain / (cost < 1 ? 1 : cost);
  index_t pieces = count / per_piece;
  const index_t threads = pieces > 1 ? thread_count() : 1;
  if (pieces > threads) pieces = threads;
  if (pieces <= 1) {
    if (count > 0) body(index_t{0}, count);
    return;
  }
  const auto piece = [&](index_t i, index_t) {
    body(count * i / pieces, count * (i + 1) / pieces);
  };
  parallel_tasks(pieces, pieces, piece);
}

/// The number of threads for `tasks` tasks that cost `total_cost` elementary operations together.
static inline index_t worker_count(index_t tasks, index_t total_cost) noexcept {
  if (tasks <= 1 || total_cost < 2 * kParallelGrain) return 1;
  const index_t threads = thread_count();
  return threads < tasks ? threads : tasks;
}

}  // namespace kernels
}  // namespace tessera
