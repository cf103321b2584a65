// Processes as threads of one program, for tests of several processes.
//
//   run_processes(3, [](nn::Communicator& processes) { ... });
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/nn/training/communicator.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::test {

/// The data shared by the processes of one group.
struct Wire {
  std::vector<std::vector<std::string>> parts;  // by sender and receiver
  std::mutex mutex;                             // guards the rest
  std::condition_variable changed;
  index_t arrived = 0;  // at a barrier, each process once per barrier
  bool is_one_gone = false;
  std::exception_ptr first_error;
};

/// One of the processes. **Errors**: std::runtime_error if a process has ended.
class ThreadCommunicator final : public nn::Communicator {
 public:
  ThreadCommunicator(Wire& wire, index_t rank) : wire_(&wire), rank_(rank) {}

  index_t rank() const override { return rank_; }
  index_t size() const override { return std::ssize(wire_->parts); }

  std::vector<std::string> all_to_all(std::span<const std::string_view> parts) override {
    if (std::ssize(parts) != size()) throw std::invalid_argument("all_to_all: wrong size");
    const auto mine = static_cast<std::size_t>(rank_);
    wire_->parts[mine].assign(parts.begin(), parts.end());
    meet();
    std::vector<std::string> received;
    for (const auto& sent : wire_->parts) received.push_back(sent[mine]);
    meet();  // before parts change again
    return received;
  }

 private:
  void meet() {
    std::unique_lock lock(wire_->mutex);
    const index_t all = (wire_->arrived / size() + 1) * size();
    ++wire_->arrived;
    wire_->changed.notify_all();
    wire_->changed.wait(lock, [&] { return wire_->arrived >= all || wire_->is_one_gone; });
    if (wire_->arrived < all) throw std::runtime_error("a process has ended");
  }

  Wire* wire_;
  index_t rank_;
};

/// Runs f(nn::Communicator&) as `size` processes, each a thread with its own random generator and
/// `threads` threads; returns when all have ended.
/// **Errors**: the first exception of a process, which ends the others' waits.
template <class F>
void run_processes(index_t size, const F& f, int threads = 1) {
  Wire wire;
  wire.parts.resize(static_cast<std::size_t>(size));
  const auto run = [&](index_t rank) {
    set_thread_count(threads);
    std::exception_ptr error;
    try {
      ThreadCommunicator processes(wire, rank);
      f(static_cast<nn::Communicator&>(processes));
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(wire.mutex);
    if (wire.first_error == nullptr) wire.first_error = error;
    wire.is_one_gone = true;
    wire.changed.notify_all();
  };
  std::vector<std::thread> all;
  for (index_t rank = 0; rank < size; ++rank) all.emplace_back(run, rank);
  for (std::thread& thread : all) thread.join();
  if (wire.first_error != nullptr) std::rethrow_exception(wire.first_error);
}

/// The result of each of `size` processes.
template <class F>
auto each_of(index_t size, const F& f, int threads = 1) {
  std::vector<decltype(f(std::declval<nn::Communicator&>()))> results(
      static_cast<std::size_t>(size));
  run_processes(
      size,
      [&](nn::Communicator& processes) {
        results[static_cast<std::size_t>(processes.rank())] = f(processes);
      },
      threads);
  return results;
}

}  // namespace tessera::test
