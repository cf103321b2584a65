// Decides whether threads save time at the moment. A parallel region waits for all its threads: if
// other programs occupy the cores, a task of 50 microseconds can take a time slice of milliseconds,
// and two programs with two threads each on two cores run several times slower than with one thread
// each.
//
// The governor keeps a balance over all regions: it adds the time that threads saved and subtracts
// the time that they lost. When the loss exceeds a time slice of the scheduler, the caller computes
// on one thread for a pause, and then tries threads again. A pause is 4 times as long as the loss,
// and 16 and then 64 times if the next tries fail too. So failed tries cost a few percent of the
// time, and a longer disturbance of a quiet machine a few times its own length. One lost slice
// proves nothing: next to a program of lower priority, a thread waits one slice when it starts, and
// then saves time.
//
// The governor reads no clock: callers pass times, in nanoseconds since any fixed point.
#pragma once

#include "tessera/tensor/kernels/types.h"

namespace tessera::kernels {

class Governor {
 public:
  /// Whether a region that starts at `now` should use only the calling thread.
  bool is_pausing(index_t now) const { return now < resume_; }

  /// Records a region that ended at `now` and took `took`; one thread would have taken about
  /// `serial`.
  void account(index_t now, index_t took, index_t serial) {
    balance_ += serial - took;
    if (balance_ > kMostCredit) balance_ = kMostCredit;
    if (balance_ < -kMostDebt) pause(now, -balance_);
  }

 private:
  // -kMostDebt <= balance <= kMostCredit. A time slice is 3 to 4 ms: two lost slices in a row end a
  // try, whatever was saved before.
  static constexpr index_t kMostCredit = 1'000'000;
  static constexpr index_t kMostDebt = 4'500'000;
  static constexpr index_t kMostLoss = 100'000'000;  // limits the loss of a stopped process
  static constexpr index_t kShortestPause = 4;       // in units of the loss
  static constexpr index_t kLongestPause = 64;
  static constexpr index_t kGrowth = 4;

  void pause(index_t now, index_t lost) {
    if (lost > kMostLoss) lost = kMostLoss;
    const bool is_isolated = now - resume_ > kLongestPause * lost;  // the last pause was long ago
    factor_ = is_isolated || factor_ == 0 ? kShortestPause : kGrowth * factor_;
    if (factor_ > kLongestPause) factor_ = kLongestPause;
    resume_ = now + factor_ * lost;
    balance_ = 0;
  }

  index_t balance_ = 0;  // time saved minus time lost, since the last pause
  index_t factor_ = 0;   // of the last pause; 0: no pause yet
  index_t resume_ = 0;   // the end of the last pause
};

}  // namespace tessera::kernels
