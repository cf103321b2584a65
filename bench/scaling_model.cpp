#include "bench/scaling_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/training/detail/chunks.h"
#include "tensor/error.h"

namespace tessera::bench {

Traffic traffic_of(std::span<const index_t> counts, index_t hosts) {
  require(hosts >= 1, "traffic_of", "hosts must be at least 1, got ", hosts);
  Traffic traffic = {.hosts = hosts};
  std::vector<index_t> owned(static_cast<std::size_t>(hosts)), chunks = owned;
  for (const nn::Chunk& chunk : nn::cut_into_chunks(counts, hosts)) {
    const auto owner = static_cast<std::size_t>(chunk.owner);
    traffic.parameters += chunk.count;
    ++traffic.chunks;
    traffic.owned = std::max(traffic.owned, owned[owner] += chunk.count);
    traffic.owned_chunks = std::max(traffic.owned_chunks, ++chunks[owner]);
  }
  require(traffic.parameters > 0, "traffic_of", "parameters must be at least 1, got 0");
  return traffic;
}

namespace {

/// The time of gradients, weights, and three gathers: losses, parts of the norm, requests to stop.
double exchange_time(const Traffic& t, double backward, const Link& link, index_t layers) {
  if (t.hosts == 1) return 0;
  constexpr double kElement = 4;      // bytes
  constexpr double kGathers = 3 * 2;  // of lengths and of texts
  const auto others = static_cast<double>(t.hosts - 1);
  const auto parts = static_cast<double>(layers);
  const double bytes = kElement * others * static_cast<double>(t.owned);  // each way
  const double messages =
      static_cast<double>(t.chunks - t.owned_chunks) + others * static_cast<double>(t.owned_chunks);
  const double carried = link.bandwidth > 0 ? bytes / link.bandwidth : 0;
  const double handled =
      messages * link.overhead + kElement * static_cast<double>(t.sent()) * link.copy;
  const double exposed = std::max(carried / parts, carried - backward * (1 - 1 / parts));
  const double rounds = std::ceil(std::log2(static_cast<double>(t.hosts)));
  return std::max(link.latency + exposed, handled) + std::max(link.latency + carried, handled) +
         kGathers * rounds * (link.latency + 2 * link.overhead);
}

}  // namespace

StepTime step_time(const Traffic& t, const Work& work, const Link& link, index_t layers) {
  const auto owned = static_cast<double>(t.owned);
  const auto others = static_cast<double>(t.hosts - 1);
  return {.work = work.forward + work.backward + others * owned * work.addition +
                  work.update * owned / static_cast<double>(t.parameters),
          .exchange = exchange_time(t, work.backward, link, layers)};
}

}  // namespace tessera::bench
