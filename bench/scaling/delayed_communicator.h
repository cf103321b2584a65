// A slower network than the one that is there: to see on one machine what many would do.
//
//   bench::DelayedCommunicator slow(processes, {.latency = 50e-6, .bandwidth = 1.25e9});
//   nn::TrainerOptions options = {.shards = 8, .processes = &slow};
#pragma once

#include <chrono>
#include <deque>

#include "bench/scaling/step_time.h"
#include "nn/training/communicator.h"

namespace tessera::bench {

/// Another communicator, each message of which arrives no sooner than by a link of this latency and
/// bandwidth. It carries the same bytes.
///
/// Each process has one link, which carries one message after another each way. A message sent at
/// time t of b bytes leaves when the sender's link has been free for b / bandwidth since t, and
/// arrives `latency` later, when the receiver's link, too, has been free for so long. `wait` returns
/// when all that it waits for has left and arrived; all_gather when two times ceil(log2 P) rounds of
/// such messages could have been, for the texts' lengths and for the texts. `link.overhead` and
/// `link.copy` are not read: the processors' work is real.
///
/// A message is preceded by one of 8 bytes that says when it left, by the clock that the processes of
/// one host share: all of them must run on one host. bytes_sent() does not count these.
class DelayedCommunicator final : public nn::Communicator {
 public:
  /// `inner` must outlive it. **Errors**: a latency or bandwidth below 0.
  DelayedCommunicator(nn::Communicator& inner, const Link& link);

  index_t rank() const override { return inner_->rank(); }
  index_t size() const override { return inner_->size(); }
  void send(index_t to, index_t tag, std::span<const std::byte> bytes) override;
  void receive(index_t from, index_t tag, std::span<std::byte> bytes) override;
  void progress() override { inner_->progress(); }
  void wait() override;
  std::vector<std::string> all_gather(std::string_view mine) override;
  index_t bytes_sent() const override { return inner_->bytes_sent() - stamps_sent_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Stamp = Clock::rep;  // of the clock

  struct Arrival {
    Stamp left;
    std::size_t bytes;
  };

  Stamp carry(std::size_t bytes) const;
  Stamp arrival_of_all();

  nn::Communicator* inner_;
  Link link_;
  Stamp latency_;
  Stamp out_free_ = 0, in_free_ = 0;  // when the link has carried what it was given, each way
  std::deque<Stamp> sent_;            // stay where they are until wait
  std::deque<Arrival> arrivals_;
  index_t stamps_sent_ = 0;
};

}  // namespace tessera::bench
