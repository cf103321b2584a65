// Whether threads pay at the moment. A region waits for all its threads: where other programs hold
// their processors, a piece of 50 microseconds can take a time slice of milliseconds, and two
// programs with two threads each on two cores run several times slower than with one thread each.
//
// The governor keeps accounts of regions. What threads have gained is credit, what they have lost
// is taken off it; once more is lost than there was credit for, the caller computes alone for a
// while, and then tries again. A pause is 4 times as long as what was lost, and while tries fail 16
// and then 64 times. So failing tries cost a few percent, and a single hiccup of a quiet machine a
// few times itself.
//
// It reads no clock: the times are given, in nanoseconds from any beginning.
#pragma once

#include "tensor/kernels/types.h"

namespace tessera::kernels {

class Governor {
 public:
  /// Whether a region at this time should use the calling thread alone.
  bool alone(index_t now) const { return now < resume_; }

  /// A region has ended at `now` after `took`, which would have taken about `alone` on one thread.
  void account(index_t now, index_t took, index_t alone) {
    balance_ += alone - took;
    if (balance_ > kMostCredit) balance_ = kMostCredit;
    if (balance_ < 0) pause(now, -balance_);
  }

 private:
  // Less than a scheduler's time slice: one lost slice ends the try, whatever was gained before.
  static constexpr index_t kMostCredit = 1'000'000;
  static constexpr index_t kMostLoss = 100'000'000;  // a process that was stopped has lost more
  static constexpr index_t kShortestPause = 4;       // in units of what was lost
  static constexpr index_t kLongestPause = 64;
  static constexpr index_t kGrowth = 4;

  void pause(index_t now, index_t lost) {
    if (lost > kMostLoss) lost = kMostLoss;
    const bool was_hiccup = now - resume_ > kLongestPause * lost;  // after a long good time
    factor_ = was_hiccup || factor_ == 0 ? kShortestPause : kGrowth * factor_;
    if (factor_ > kLongestPause) factor_ = kLongestPause;
    resume_ = now + factor_ * lost;
    balance_ = 0;
  }

  index_t balance_ = 0;  // gained less lost, since the last pause
  index_t factor_ = 0;   // of the last pause; 0: there was none
  index_t resume_ = 0;   // its end
};

}  // namespace tessera::kernels
