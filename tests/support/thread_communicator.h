// Processes as threads of one program, for tests of several processes.
//
//   run_processes(3, [](nn::Communicator& processes) { ... });
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "nn/training/communicator.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"

namespace tessera::test {

/// The time at which a message appears in its receiver's buffer, if a Communicator may choose it.
enum class Delivery {
  kEarly,   // at the next progress(); a send never waits for the receiver
  kLate,    // in wait(); until then the buffer is noise; a send ends when the message was received
  kRandom,  // as kLate, but some messages appear at the next progress()
};

struct GroupOptions {
  Delivery delivery = Delivery::kEarly;
  int threads = 1;  // of each process
  std::uint64_t seed = 1;
};

/// The data shared by the processes of one group. `mutex` guards all of it.
struct Wire {
  struct Message {
    std::vector<std::byte> bytes;
    bool is_taken = false;
  };
  struct Round {
    std::map<index_t, std::string> texts;
    index_t readers = 0;
  };
  using Channel = std::tuple<index_t, index_t, index_t>;  // from, to, tag

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Channel, std::deque<std::shared_ptr<Message>>> messages;
  std::map<index_t, Round> rounds;  // of all_gather
  std::set<index_t> ended;
  std::exception_ptr first_error;
};

/// One of the processes. **Errors**, in addition to ProcessLost, are std::invalid_argument: a rank
/// or tag that does not exist, a message with a length different from its receiver's, bytes that
/// change while they are sent, and a minute without a message.
class ThreadCommunicator final : public nn::Communicator {
 public:
  ThreadCommunicator(Wire& wire, index_t rank, index_t size, const GroupOptions& options)
      : wire_(&wire),
        rank_(rank),
        size_(size),
        delivery_(options.delivery),
        random_(options.seed + static_cast<std::uint64_t>(rank)) {}

  index_t rank() const override { return rank_; }
  index_t size() const override { return size_; }
  index_t bytes_sent() const override { return bytes_sent_; }

  void send(index_t to, index_t tag, std::span<const std::byte> bytes) override {
    check(to, tag);
    const auto message = std::make_shared<Wire::Message>();
    message->bytes.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(message->bytes.data(), bytes.data(), bytes.size());
    sends_.push_back({to, tag, bytes, message});
    bytes_sent_ += std::ssize(bytes);
    const std::lock_guard lock(wire_->mutex);
    wire_->messages[{rank_, to, tag}].push_back(message);
    wire_->changed.notify_all();
  }

  void receive(index_t from, index_t tag, std::span<std::byte> bytes) override {
    check(from, tag);
    const bool is_noise = delivery_ != Delivery::kEarly && !bytes.empty();
    if (is_noise) std::memset(bytes.data(), 0xff, bytes.size());
    receives_.push_back({from, tag, bytes, nullptr});
  }

  void progress() override {
    if (delivery_ == Delivery::kLate) return;
    const std::unique_lock lock(wire_->mutex);
    take();
    for (Receive& receive : receives_) {
      if (delivery_ == Delivery::kEarly || random_() % 2 == 0) write(receive);
    }
  }

  void wait() override {
    std::unique_lock lock(wire_->mutex);
    until(lock, "wait", [&] {
      take();
      std::vector<index_t> missing;
      for (const Receive& receive : receives_) {
        if (receive.message == nullptr) missing.push_back(receive.from);
      }
      for (const Send& send : sends_) {
        if (delivery_ != Delivery::kEarly && !send.message->is_taken) missing.push_back(send.to);
      }
      return missing;
    });
    for (const Send& send : sends_) {
      require(send.bytes.empty() || std::memcmp(send.bytes.data(), send.message->bytes.data(),
                                                send.bytes.size()) == 0,
              "wait", "process ", rank_, " changed bytes while they were sent to ", send.to,
              " with tag ", send.tag);
    }
    for (Receive& receive : receives_) write(receive);
    sends_.clear();
    receives_.clear();
  }

  std::vector<std::string> all_gather(std::string_view mine) override {
    std::unique_lock lock(wire_->mutex);
    Wire::Round& round = wire_->rounds[round_];
    round.texts.emplace(rank_, mine);
    wire_->changed.notify_all();
    until(lock, "all_gather", [&] {
      take();
      std::vector<index_t> missing;
      for (index_t i = 0; i < size_; ++i) {
        if (!round.texts.contains(i)) missing.push_back(i);
      }
      return missing;
    });
    std::vector<std::string> result;
    for (const auto& [rank, text] : round.texts) result.push_back(text);
    if (++round.readers == size_) wire_->rounds.erase(round_);
    ++round_;
    return result;
  }

  /// Must be called at a process's end. **Errors**: a message was begun and not waited for.
  void check_idle() const {
    require(sends_.empty() && receives_.empty(), "run_processes", "process ", rank_,
            " ended without a wait() for ", sends_.size(), " messages sent and ", receives_.size(),
            " to receive");
  }

 private:
  struct Send {
    index_t to, tag;
    std::span<const std::byte> bytes;
    std::shared_ptr<Wire::Message> message;  // a copy of them
  };
  struct Receive {
    index_t from, tag;
    std::span<std::byte> bytes;
    std::shared_ptr<Wire::Message> message;  // null until it has arrived
  };

  void check(index_t other, index_t tag) const {
    require(other >= 0 && other < size_ && other != rank_, "ThreadCommunicator", "process ", rank_,
            " of ", size_, " has no other process ", other);
    require(tag >= 0 && tag < kMostTags, "ThreadCommunicator", "tag ", tag);
  }

  /// Gives each receive the message that has arrived for it.
  void take() {
    for (Receive& receive : receives_) {
      if (receive.message != nullptr) continue;
      auto& queue = wire_->messages[{receive.from, rank_, receive.tag}];
      if (queue.empty()) continue;
      receive.message = queue.front();
      queue.pop_front();
      receive.message->is_taken = true;
      wire_->changed.notify_all();
      require(receive.message->bytes.size() == receive.bytes.size(), "ThreadCommunicator",
              "process ", receive.from, " sent ", receive.message->bytes.size(), " bytes with tag ",
              receive.tag, ", but process ", rank_, " receives ", receive.bytes.size());
    }
  }

  static void write(const Receive& receive) {
    if (receive.message == nullptr || receive.bytes.empty()) return;
    std::memcpy(receive.bytes.data(), receive.message->bytes.data(), receive.bytes.size());
  }

  /// Returns when `missing()`, the list of processes with missing messages, is empty.
  template <class Missing>
  void until(std::unique_lock<std::mutex>& lock, const char* op, const Missing& missing) {
    for (;;) {
      const std::vector<index_t> processes = missing();
      if (processes.empty()) return;
      for (const index_t i : processes) {
        if (wire_->ended.contains(i)) {
          throw nn::ProcessLost(std::string(op) + ": process " + std::to_string(i) + " has ended");
        }
      }
      const auto status = wire_->changed.wait_for(lock, std::chrono::minutes(1));
      require(status != std::cv_status::timeout, op, "process ", rank_,
              " has waited for a minute for process ", processes.front());
    }
  }

  Wire* wire_;
  index_t rank_, size_;
  Delivery delivery_;
  std::mt19937_64 random_;
  std::vector<Send> sends_;
  std::vector<Receive> receives_;
  index_t round_ = 0;
  index_t bytes_sent_ = 0;
};

/// Runs f(nn::Communicator&) as `size` processes, each a thread with its own random generator and
/// number of threads; returns when all have ended.
///
/// **Errors**: the first exception of a process, which ends the others' waits with ProcessLost;
/// messages that were not waited for or not received.
template <class F>
void run_processes(index_t size, const F& f, const GroupOptions& options = {}) {
  Wire wire;
  const auto run = [&](index_t rank) {
    set_thread_count(options.threads);
    std::exception_ptr error;
    try {
      ThreadCommunicator processes(wire, rank, size, options);
      f(static_cast<nn::Communicator&>(processes));
      processes.check_idle();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(wire.mutex);
    if (wire.first_error == nullptr) wire.first_error = error;
    wire.ended.insert(rank);
    wire.changed.notify_all();
  };
  std::vector<std::thread> threads;
  for (index_t rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (wire.first_error != nullptr) std::rethrow_exception(wire.first_error);
  for (const auto& [channel, queue] : wire.messages) {
    const auto [from, to, tag] = channel;
    require(queue.empty(), "run_processes", "process ", to, " did not receive what ", from,
            " sent it with tag ", tag);
  }
}

/// The result of each of `size` processes.
template <class F>
auto each_of(index_t size, const F& f, const GroupOptions& options = {}) {
  std::vector<decltype(f(std::declval<nn::Communicator&>()))> results(
      static_cast<std::size_t>(size));
  run_processes(
      size,
      [&](nn::Communicator& processes) {
        results[static_cast<std::size_t>(processes.rank())] = f(processes);
      },
      options);
  return results;
}

}  // namespace tessera::test
