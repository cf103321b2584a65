#include "bench/scaling/link_probe.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/scaling/stopwatch.h"
#include "nn/training/chunks.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

constexpr std::size_t kSmall = 8;
constexpr std::size_t kLarge = nn::kChunkElements * sizeof(float);

/// Seconds in which a process sends and receives so many messages; the median of several rounds.
double exchange_time(nn::Communicator& processes, std::size_t bytes, index_t messages) {
  const index_t neighbour = processes.rank() ^ 1;
  const bool has_neighbour = neighbour < processes.size();
  const auto count = static_cast<std::size_t>(messages);
  std::vector<std::byte> out(bytes * count), in(bytes * count);
  std::vector<double> laps;
  for (int round = 0; round < 5; ++round) {
    processes.all_gather("");  // all begin at the same time
    Stopwatch watch;
    for (index_t i = 0; has_neighbour && i < messages; ++i) {
      const std::size_t at = static_cast<std::size_t>(i) * bytes;
      processes.receive(neighbour, i, std::span(in).subspan(at, bytes));
      processes.send(neighbour, i, std::span<const std::byte>(out).subspan(at, bytes));
    }
    processes.wait();
    laps.push_back(watch.lap());
  }
  return quantile(laps, 0.5);
}

}  // namespace

Link measure_link(nn::Communicator& processes) {
  require(processes.size() > 1, "measure_link", "needs at least 2 processes, got 1");
  constexpr index_t kMessages = 100, kChunks = 50;
  const double small = exchange_time(processes, kSmall, kMessages) / (2 * kMessages);
  const double large = exchange_time(processes, kLarge, kChunks) / (2 * kChunks);
  Link link = {.overhead = small,
               .copy = std::max(0.0, large - small) / static_cast<double>(kLarge)};
  std::string text(sizeof(Link), '\0');
  std::memcpy(text.data(), &link, sizeof(Link));
  std::memcpy(&link, processes.all_gather(text).front().data(), sizeof(Link));
  return link;
}

}  // namespace tessera::bench
