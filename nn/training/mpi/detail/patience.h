// How to wait for other processes: with the processor at first, for they are about to answer, then
// mostly asleep, for where there are more processes than cores they need it.
#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace tessera::mpi {

/// What one look at the messages under way has found.
enum class Progress { kNone, kSome, kDone };

class Patience {
 public:
  /// Something has happened.
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

  /// Every tenth of a second: whether the others still live.
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
