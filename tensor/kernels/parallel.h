// Threads. Everything that runs in parallel in this library goes through parallel_for and
// parallel_tasks; run_tasks is their half that is not a template. Threads claim what they do: one
// that is late finds that others have done its part, though OpenMP still waits until it has seen so.
// governor.h says when one thread computes alone for that reason.
//
// Free of the standard library, so that files compiled for one instruction set may include it; the
// templates are static (internal linkage) for the same reason.
//
// Bodies are noexcept in spirit: an exception must not leave a parallel region. How work is cut
// never changes a result, because no body sums across a cut.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera {

/// The number of threads a parallel region uses: set_thread_count's value, else OMP_NUM_THREADS or
/// the CPUs this process may run on, whichever is given, but never more than the cgroup's CPU
/// quota. 1 without OpenMP, inside someone else's parallel region, and in a child of fork().
int thread_count() noexcept;

/// Sets thread_count for the calling thread. Such a number is used as it is; by default the library
/// computes alone while other programs use the processors. 0 returns to the default.
void set_thread_count(int threads) noexcept;

namespace kernels {

/// Runs `body(context, task, worker)` for each task in [0, tasks) on `workers` threads numbered
/// from 0; each takes the next task when it is free. With one worker, or where threads do not pay
/// at the moment, in order in the caller as worker 0.
void run_tasks(index_t tasks, index_t workers, void (*body)(void*, index_t, index_t),
               void* context) noexcept;

/// Work below this many elementary operations stays in the calling thread: entering a region costs
/// some microseconds.
inline constexpr index_t kParallelGrain = 32768;

/// Products of matrices do this many floating point operations in the time of one elementary one.
inline constexpr index_t kFlopsPerOperation = 16;

/// Calls `body(task, worker)` for each of `tasks` on `workers` threads.
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

/// How many threads `tasks` pieces of work are worth that cost `total_cost` elementary operations
/// together.
static inline index_t worker_count(index_t tasks, index_t total_cost) noexcept {
  if (tasks <= 1 || total_cost < 2 * kParallelGrain) return 1;
  const index_t threads = thread_count();
  return threads < tasks ? threads : tasks;
}

}  // namespace kernels
}  // namespace tessera
