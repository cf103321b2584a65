// A shared_ptr that several threads read and write, like std::atomic<std::shared_ptr>, which libc++
// does not have.
#pragma once

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

namespace tessera {

/// A shared_ptr, empty at first, whose load() and store() may be called from several threads.
template <class T>
class AtomicShared {
 public:
  /// The current value.
  std::shared_ptr<T> load() const {
    const Lock lock(is_held_);
    return value_;
  }
  /// Replaces the value; the old one is destroyed after the lock is released.
  void store(std::shared_ptr<T> value) {
    const Lock lock(is_held_);
    value_.swap(value);
  }

 private:
  /// A spin lock, held only while a pointer is copied.
  struct Lock {
    explicit Lock(std::atomic_flag& flag) : is_held(flag) {
      while (is_held.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Lock() { is_held.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    std::atomic_flag& is_held;
  };

  mutable std::atomic_flag is_held_ = ATOMIC_FLAG_INIT;
  std::shared_ptr<T> value_;
};

}  // namespace tessera
