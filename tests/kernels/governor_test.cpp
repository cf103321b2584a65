#include "tessera/tensor/kernels/governor.h"

#include <gtest/gtest.h>

namespace tessera::kernels {
namespace {

constexpr index_t kMicrosecond = 1000;
constexpr index_t kMillisecond = 1000 * kMicrosecond;

/// A machine on which a region of 100 microseconds of work takes `took` on all threads.
class Machine {
 public:
  /// One call of the library: a parallel region, or one thread if the governor requests it.
  void call(index_t took) {
    constexpr index_t kWork = 100 * kMicrosecond;
    if (governor_.is_pausing(now_)) {
      now_ += kWork;
      ++alone_;
    } else {
      now_ += took;
      governor_.account(now_, took, kWork);
      ++teams_;
    }
  }
  void calls(int count, index_t took) {
    for (int i = 0; i < count; ++i) call(took);
  }

  index_t now() const { return now_; }
  int alone() const { return alone_; }
  int teams() const { return teams_; }

 private:
  Governor governor_;
  index_t now_ = 77 * kMillisecond;
  int alone_ = 0;
  int teams_ = 0;
};

TEST(Governor, UsesThreadsWhileTheyGain) {
  Machine machine;
  machine.calls(1000, 60 * kMicrosecond);
  EXPECT_EQ(machine.alone(), 0);
}

TEST(Governor, GoesAlonePromptlyWhenRegionsWait) {
  Machine machine;
  machine.calls(1000, 60 * kMicrosecond);  // credit does not save regions that lost two slices
  machine.calls(2, 3 * kMillisecond);
  machine.call(60 * kMicrosecond);
  EXPECT_EQ(machine.alone(), 1);
}

TEST(Governor, OneLostSliceIsForgivenByGains) {
  Machine machine;
  for (int i = 0; i < 100; ++i) {
    machine.call(4 * kMillisecond);
    machine.calls(200, 60 * kMicrosecond);
  }
  EXPECT_EQ(machine.alone(), 0);
}

TEST(Governor, ABusyMachineCostsAFewPercent) {
  Machine machine;
  const index_t start = machine.now();
  constexpr int kCalls = 50'000;
  machine.calls(kCalls, 4 * kMillisecond);
  const index_t alone = index_t{kCalls} * 100 * kMicrosecond;
  EXPECT_LT(machine.now() - start, alone + alone / 40);
  EXPECT_GE(machine.teams(), 5) << "it tries again from time to time";
}

TEST(Governor, SmallLossesBetweenGreatOnesCostNoMore) {
  Machine machine;
  const index_t start = machine.now();
  index_t alone = 0;
  for (int i = 0; i < 50'000; ++i) {
    // Every other try loses little, which must not count as a quiet machine.
    machine.call(machine.teams() % 2 == 0 ? 20 * kMillisecond : 5 * kMillisecond);
    alone += 100 * kMicrosecond;
  }
  EXPECT_LT(machine.now() - start, alone + alone / 25);
}

TEST(Governor, AProcessThatWasStoppedIsSoonBackOnThreads) {
  Machine machine;
  machine.call(600'000 * kMillisecond);
  machine.calls(10'000, 60 * kMicrosecond);  // at most a second
  const int alone = machine.alone();
  machine.calls(100, 60 * kMicrosecond);
  EXPECT_EQ(machine.alone(), alone);
}

TEST(Governor, ReturnsToThreadsWhenTheMachineIsQuietAgain) {
  Machine machine;
  machine.calls(20'000, 4 * kMillisecond);
  machine.calls(6'000, 60 * kMicrosecond);  // longer than the longest pause
  const int alone = machine.alone();
  machine.calls(1000, 60 * kMicrosecond);
  EXPECT_EQ(machine.alone(), alone);
}

TEST(Governor, OneHiccupCostsAFewTimesItself) {
  Machine machine;
  machine.calls(20'000, 4 * kMillisecond);
  machine.calls(20'000, 60 * kMicrosecond);
  // After a long time without loss, a single loss is independent of the earlier ones.
  const int before = machine.alone();
  machine.call(10 * kMillisecond);
  machine.calls(2000, 60 * kMicrosecond);
  EXPECT_GT(machine.alone(), before);
  EXPECT_LE(machine.alone() - before, 4 * 100);
}

TEST(Governor, RegionsThatAreTooSmallForThreadsGoAlone) {
  Machine machine;
  machine.calls(100'000, 130 * kMicrosecond);
  EXPECT_GT(machine.alone(), 15 * machine.teams());
}

TEST(Governor, SmallLossesAreForgivenByGains) {
  Machine machine;
  for (int i = 0; i < 1000; ++i) {
    machine.call(60 * kMicrosecond);
    machine.call(120 * kMicrosecond);
  }
  EXPECT_EQ(machine.alone(), 0);
}

}  // namespace
}  // namespace tessera::kernels
