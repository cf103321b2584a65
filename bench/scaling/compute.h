// What the machine needs for the parts of a step, and what a host of other cores would need.
#pragma once

#include "bench/scaling/learner.h"
#include "bench/scaling/step_time.h"

namespace tessera::bench {

/// The calling thread computes on so many threads while one is in scope.
class ThreadsScope {
 public:
  explicit ThreadsScope(index_t threads);
  ~ThreadsScope();
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int before_;
};

/// Times the parts of a step of the task's shard, on so many threads, for so many seconds and three
/// steps at least. `part` of the times of each part are shorter than what it gives: 0 are than the
/// best, half than the median. The spread is that of forward and backward, between their quartiles.
Host measure_compute(const Task& task, Learner& learner, index_t threads, double seconds,
                     double part = 0);

/// A time on `cores` by Amdahl's law, from that of one thread and that of `threads`: a part that
/// more threads do not shorten, and one that they divide. With threads = 1 all is divided.
/// **Source**: Amdahl, "Validity of the single processor approach to achieving large scale computing
/// capabilities" (1967).
double on_cores(double one, double several, index_t threads, index_t cores);

/// A host of so many cores, as on_cores says of each part. With a `speedup` above 0 each part takes
/// the time of one thread divided by it.
Host host_of(const Host& one, const Host& several, index_t threads, index_t cores, double speedup);

}  // namespace tessera::bench
