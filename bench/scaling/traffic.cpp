#include "bench/scaling/traffic.h"

#include <algorithm>
#include <numeric>

#include "nn/training/chunks.h"
#include "nn/training/communicator.h"
#include "nn/training/shards.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

struct Process {
  index_t shards, subtrees;
  index_t owned = 0;
  index_t chunks = 0;
};

std::vector<Process> processes_of(std::span<const nn::Chunk> chunks, index_t shards,
                                  index_t processes) {
  std::vector<Process> result;
  for (index_t p = 0; p < processes; ++p) {
    const nn::Share share = nn::share_of(shards, p, processes);
    result.push_back({.shards = share.end - share.begin,
                      .subtrees = std::ssize(nn::nodes_of(shards, share.begin, share.end))});
  }
  for (const nn::Chunk& chunk : chunks) {
    Process& owner = result[static_cast<std::size_t>(chunk.owner)];
    owner.owned += chunk.count;
    ++owner.chunks;
  }
  return result;
}

/// Three sums of losses and a byte a variable, of each subtree; the norm's parts, one for 16384 elements; a byte of
/// each process that asks to stop.
index_t gathered_bytes(index_t variables, index_t parameters, index_t subtrees, index_t processes) {
  constexpr index_t kTotals = 24;
  constexpr index_t kNormBlock = 16384;
  return subtrees * (kTotals + variables) + (parameters / kNormBlock + variables) * 8 + processes;
}

}  // namespace

Traffic traffic_of(std::span<const index_t> counts, index_t shards, index_t processes) {
  require(processes >= 1, "traffic_of", "processes must be at least 1, got ", processes);
  require(shards >= processes, "traffic_of", "processes must be at most the shards, ", shards,
          ", got ", processes, "; take more shards, or fewer processes");
  const std::vector<nn::Chunk> chunks = nn::cut_into_chunks(counts, processes);
  const index_t n = std::accumulate(counts.begin(), counts.end(), index_t{0});
  require(n > 0, "traffic_of", "parameters must be at least 1, got 0");
  const auto c = static_cast<index_t>(chunks.size());
  const std::vector<Process> all = processes_of(chunks, shards, processes);
  index_t subtrees = 0;
  for (const Process& p : all) subtrees += p.subtrees;

  Traffic most = {.processes = processes, .shards = shards, .parameters = n};
  const auto keep_most = [](index_t& value, index_t other) { value = std::max(value, other); };
  for (const Process& p : all) {
    const index_t others = subtrees - p.subtrees;
    keep_most(most.most_shards, p.shards);
    keep_most(most.most_owned, p.owned);
    keep_most(most.gradients_out, p.subtrees * (n - p.owned));
    keep_most(most.gradients_in, p.owned * others);
    keep_most(most.weights_out, (processes - 1) * p.owned);
    keep_most(most.most_sent, p.subtrees * (n - p.owned) + (processes - 1) * p.owned);
    keep_most(most.weights_in, n - p.owned);
    keep_most(most.gradient_messages, p.subtrees * (c - p.chunks) + p.chunks * others);
    keep_most(most.weight_messages, (processes - 1) * p.chunks + c - p.chunks);
    keep_most(most.additions, (p.shards - p.subtrees) * n + (subtrees - 1) * p.owned);
  }
  if (processes > 1) {
    most.gathered = gathered_bytes(std::ssize(counts), n, subtrees, processes);
  }
  return most;
}

std::vector<index_t> cut(std::span<const index_t> counts, index_t chunk) {
  std::vector<index_t> pieces;
  for (const index_t count : counts) {
    for (index_t begin = 0; begin < count; begin += chunk) {
      pieces.push_back(std::min(chunk, count - begin));
    }
  }
  return pieces;
}

}  // namespace tessera::bench
