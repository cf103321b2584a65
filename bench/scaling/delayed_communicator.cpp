#include "bench/scaling/delayed_communicator.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "tensor/error.h"

namespace tessera::bench {

namespace {

using Clock = std::chrono::steady_clock;

Clock::rep now() {
  return Clock::now().time_since_epoch().count();
}

Clock::rep ticks(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))
      .count();
}

void sleep_until(Clock::rep time) {
  std::this_thread::sleep_until(Clock::time_point(Clock::duration(time)));
}

}  // namespace

DelayedCommunicator::DelayedCommunicator(nn::Communicator& inner, const Link& link)
    : inner_(&inner), link_(link), latency_(ticks(link.latency)) {
  require(link.latency >= 0 && link.bandwidth >= 0, "DelayedCommunicator",
          "latency and bandwidth must be at least 0, got latency ", link.latency, ", bandwidth ",
          link.bandwidth);
}

Clock::rep DelayedCommunicator::carry(std::size_t bytes) const {
  return link_.bandwidth > 0 ? ticks(static_cast<double>(bytes) / link_.bandwidth) : 0;
}

void DelayedCommunicator::send(index_t to, index_t tag, std::span<const std::byte> bytes) {
  out_free_ = std::max(out_free_, now()) + carry(bytes.size());
  sent_.push_back(out_free_);
  const auto stamp = std::as_bytes(std::span(&sent_.back(), 1));
  inner_->send(to, tag, stamp);
  inner_->send(to, tag, bytes);
  stamps_sent_ += std::ssize(stamp);
}

void DelayedCommunicator::receive(index_t from, index_t tag, std::span<std::byte> bytes) {
  arrivals_.push_back({.left = 0, .bytes = bytes.size()});
  inner_->receive(from, tag, std::as_writable_bytes(std::span(&arrivals_.back().left, 1)));
  inner_->receive(from, tag, bytes);
}

/// When the link has brought all messages, in the order in which they left.
Clock::rep DelayedCommunicator::arrival_of_all() {
  std::ranges::sort(arrivals_, {}, &Arrival::left);
  for (const Arrival& arrival : arrivals_) {
    // Its first byte is here as long before its last one as the link needs for it.
    const Stamp carried = carry(arrival.bytes);
    in_free_ = std::max(in_free_, arrival.left + latency_ - carried) + carried;
  }
  return in_free_;
}

void DelayedCommunicator::wait() {
  inner_->wait();
  const Stamp until =
      std::max(arrivals_.empty() ? 0 : arrival_of_all(), sent_.empty() ? 0 : out_free_);
  sent_.clear();
  arrivals_.clear();
  sleep_until(until);
}

std::vector<std::string> DelayedCommunicator::all_gather(std::string_view mine) {
  Stamp stamp = now();
  std::string stamped(sizeof(Stamp), '\0');
  std::memcpy(stamped.data(), &stamp, sizeof(Stamp));
  std::vector<std::string> all = inner_->all_gather(stamped.append(mine));
  std::size_t bytes = 0;
  for (std::string& text : all) {
    Stamp other = 0;
    std::memcpy(&other, text.data(), sizeof(Stamp));
    stamp = std::max(stamp, other);
    text.erase(0, sizeof(Stamp));
    bytes += text.size();
  }
  sleep_until(stamp + 2 * rounds_of(size()) * latency_ + carry(bytes));
  return all;
}

}  // namespace tessera::bench
