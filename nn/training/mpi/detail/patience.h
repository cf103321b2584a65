// Waiting for other processes: spins at first, because they usually respond soon, then mostly
// sleeps, because there may be more processes than cores.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace tessera::mpi {

/// The result of one check of the messages in progress.
enum class Progress { kNone, kSome, kDone };

class Patience {
 public:
  /// Starts again after progress.
  void renew() { *this = Patience(); }

  void pause() {
    constexpr auto kAwake = std::chrono::microseconds(500);
    constexpr auto kNap = std::chrono::microseconds(50);
    if (Clock::now() - begin_ < kAwake) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }

  /// True every tenth of a second: time to check whether the other processes still run.
  bool should_look() {
    constexpr auto kBetween = std::chrono::milliseconds(100);
    const Clock::time_point now = Clock::now();
    if (now - looked_ < kBetween) return false;
    looked_ = now;
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now(), looked_ = begin_;
};

}  // namespace tessera::mpi
